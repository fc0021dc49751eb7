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

export { count, digits, figure, inWords, label, percent, plural, power, short, times, withPowers } from "./words.js";

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
