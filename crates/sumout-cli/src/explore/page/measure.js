// The width of text in the font that is really used: which one that is depends on the machine.

const context = document.createElement("canvas").getContext("2d");
const known = new Map();
let family = "sans-serif";

/** Scaled text is not wider than this, beside what is measured. */
const SLACK = 1.01;

/** Measures in the font of an element from now on. */
export function measureIn(element) {
  const now = getComputedStyle(element).fontFamily;
  if (now !== family) known.clear();
  family = now;
}

/** The width of a text in pixels. */
export function widthOf(text, size, weight = 400) {
  const key = `${weight} ${size} ${text}`;
  if (!known.has(key)) {
    context.font = `${weight} ${size}px ${family}`;
    context.textRendering = "geometricPrecision";
    known.set(key, SLACK * context.measureText(text).width);
  }
  return known.get(key);
}

/** As much of a text as has room, with an ellipsis for the rest. */
export function clipped(text, room, size, weight = 400) {
  if (widthOf(text, size, weight) <= room) return text;
  let [low, high] = [0, text.length];
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (widthOf(`${text.slice(0, middle)}…`, size, weight) <= room) low = middle;
    else high = middle;
  }
  return `${text.slice(0, low)}…`;
}
