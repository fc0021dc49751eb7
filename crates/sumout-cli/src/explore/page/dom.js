// Elements, numbers and small things that all views share.

const SVG = "http://www.w3.org/2000/svg";

/** Makes an element: h("button", {class: "x", onclick: f, "aria-label": "y"}, "text", child). */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same in SVG. */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria-")) element.setAttribute(name, String(value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const $ = (selector, root = document) => root.querySelector(selector);

/** What differs from 1 by rounding only is certain. */
const CERTAIN = 1 - 1e-12;

/** A probability as people read it: 12.3 %, and small ones with an exponent. Only certain values are shown as 100 %. */
export function percent(p) {
  if (p === 0) return "0 %";
  if (p >= 0.9995) return p < CERTAIN ? "> 99.9 %" : "100 %";
  if (p < 0.0005) return p.toExponential(1).replace("e-", "e−");
  return `${(100 * p).toFixed(1)} %`;
}

/** The same where there is no room. */
export function short(p) {
  if (p > 0 && p < 0.005) return "<1";
  if (p < CERTAIN && p > 0.995) return ">99";
  return (100 * p).toFixed(0);
}

/** A count: with commas, or as a power of two where that says more. */
export function count(n) {
  if (n === null || !Number.isFinite(n)) return "> 2^1023";
  return n < 1e7 ? Math.round(n).toLocaleString("en") : `2^${Math.log2(n).toFixed(1)}`;
}

/** Digits that matter, without trailing zeros. */
export function digits(x, n = 6) {
  return String(Number(x.toPrecision(n)));
}

export function plural(n, noun) {
  return `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
}

/** Calls at most once per frame, with the last arguments. */
export function eachFrame(action) {
  let pending = null;
  return (...args) => {
    if (pending === null) requestAnimationFrame(() => {
      const last = pending;
      pending = null;
      action(...last);
    });
    pending = args;
  };
}

/** Says what someone waits for, and for how long. The seconds are seen only: to hear every one of them would be too much. */
export function waitFor(box, text, seconds) {
  if (box.firstChild?.textContent !== text || box.childNodes.length !== 2) box.replaceChildren(text, h("span", { "aria-hidden": true }));
  box.lastChild.textContent = ` … ${seconds.toFixed(0)} s`;
}

/** Says something to people, and to those who listen instead of looking; until something else is said, if it lasts. */
export function toast(text, { lasts = false } = {}) {
  const box = $("#toast");
  box.textContent = text;
  box.hidden = false;
  clearTimeout(toast.timer);
  if (!lasts) toast.timer = setTimeout(() => { box.hidden = true; }, 3500);
}
