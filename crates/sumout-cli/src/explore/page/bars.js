// A value is a bar: a click makes it evidence, a drag makes it more or less likely, keys do both.
//
// To drag a bar to x is to give a likelihood that makes the posterior x: with odds o before, and a likelihood l of the
// value and 1 of all others, they become o · l. Later evidence moves the posterior on; the likelihood stays.

import { label, percent } from "./dom.js";
import { clear, setSoft, state, toggleGiven } from "./state.js";

const NEAR = 0.001;

/** Lets an element with bars take presses and keys. Bars have data-variable, data-value, and a `.track` inside. */
export function takeEvidence(root) {
  let drag = null;
  root.addEventListener("pointerdown", (event) => {
    const bar = event.target.closest("[data-value]");
    const track = bar && (event.target.closest(".track") ?? bar.querySelector(".track"));
    if (!bar || event.button !== 0) return;
    const { variable, value } = bar.dataset;
    drag = { bar, track, variable, value, x: event.clientX, begun: false, before: odds(variable, value) };
  });
  root.addEventListener("pointermove", (event) => {
    if (event.buttons === 0) drag = null; // let go outside of the list
    if (!drag || !drag.track) return;
    if (!drag.begun && Math.abs(event.clientX - drag.x) < 5) return;
    if (!drag.begun) root.setPointerCapture?.(event.pointerId);
    drag.begun = true;
    const box = drag.track.getBoundingClientRect();
    believe(drag.variable, drag.value, (event.clientX - box.left) / box.width, drag.before);
  });
  root.addEventListener("pointerup", () => {
    if (drag && !drag.begun) toggleGiven(drag.variable, drag.value);
    if (drag) swallowClick(root);
    drag = null;
  });
  root.addEventListener("pointercancel", () => { drag = null; });
  root.addEventListener("click", (event) => {
    const bar = event.target.closest("[data-value]"); // from a keyboard or a screen reader: presses are done above
    if (bar && event.detail === 0) toggleGiven(bar.dataset.variable, bar.dataset.value);
  });
  root.addEventListener("keydown", keys);
}

function swallowClick(root) {
  const swallow = (event) => event.stopPropagation();
  root.addEventListener("click", swallow, { capture: true, once: true });
  setTimeout(() => root.removeEventListener("click", swallow, { capture: true }), 0);
}

function keys(event) {
  const bar = event.target.closest?.("[data-value]");
  if (!bar || event.ctrlKey || event.metaKey || event.altKey) return;
  const { variable, value } = bar.dataset;
  const step = { ArrowRight: 0.05, ArrowLeft: -0.05 }[event.key];
  if (step) {
    const p = state.answer?.posteriors[variable]?.[value] ?? 0.5;
    believe(variable, value, p + step, odds(variable, value));
  } else if (event.key === "Delete" || event.key === "Backspace") {
    clear(variable);
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const all = [...event.currentTarget.querySelectorAll("[data-value]")];
    all[all.indexOf(bar) + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
  } else if ((event.key === "Enter" || event.key === " ") && bar.namespaceURI.endsWith("svg")) {
    toggleGiven(variable, value);
  } else {
    return;
  }
  event.preventDefault();
}

/** The posterior odds of a value, and the likelihood that they come from. */
function odds(variable, value) {
  const { values } = state.index.get(variable);
  const p = state.answer?.posteriors[variable]?.[value] ?? 1 / values.length;
  const flat = values.map(() => 1);
  const hard = state.given.get(variable);
  // A certain value has no odds: a drag starts as if all values were equally probable.
  const isCertain = hard !== undefined || p <= 0 || p >= 1;
  return { p: isCertain ? 1 / values.length : p, likelihood: state.soft.get(variable) ?? flat };
}

/** Gives the likelihood that makes the posterior of a value what it is dragged to. */
function believe(variable, value, wanted, { p, likelihood }) {
  const { values } = state.index.get(variable);
  const at = values.indexOf(value);
  const x = Math.min(1 - NEAR, Math.max(NEAR, wanted));
  const factor = (x / (1 - x)) / (p / (1 - p));
  const numbers = likelihood.map((l, k) => (k === at ? l * factor : l));
  const most = Math.max(...numbers);
  setSoft(variable, numbers.map((l) => Number((l / most).toPrecision(4))));
}

/** What a bar is called by those who read it out: first the words that are seen on it, so that they can also be spoken. */
export function barName(variable, value, p, seen = p === undefined ? "–" : percent(p)) {
  const how = state.given.get(variable) === value ? ", given" : state.soft.has(variable) ? ", soft evidence" : "";
  return `${label(state.index.get(variable), value)} ${seen} of ${variable}${how}`;
}
