// Errors in the words of the page, with buttons for remedies.

import { h, withPowers } from "./dom.js";

const SERVED = "Restart the explorer with a larger --memory to allow more.";

/** A problem in words. Advice for the command line is left out where the page has a button or no such option. */
export function inPageWords(problem) {
  const message = plain(problem.message);
  const first = message[0].toUpperCase() + message.slice(1);
  if (problem.kind === "memory") return `${first}. ${observed(problem)}${SERVED}`;
  const hint = problem.hint && !problem.hint.includes("`--") ? ` ${plain(problem.hint)}.` : "";
  return `${first}.${hint}`;
}

/** The words of the server, without the marks of a terminal. */
const plain = (text) => withPowers(text).replaceAll("`", "");

function observed(problem) {
  const { variable } = problem.actions?.find((action) => action.do === "observe") ?? {};
  return variable ? `Evidence makes it smaller, most of all a value of ${variable}. ` : "Evidence makes it smaller. ";
}

/** Buttons for the remedies that a page can carry out: `does` has a function for each. */
export function remedies(problem, does) {
  return (problem.actions ?? []).filter((action) => does[action.do]).map((action) => {
    const text = { normalize: "Rescale rows", observe: `Show ${action.variable}` }[action.do];
    return h("button", { type: "button", onclick: () => does[action.do](action) }, text);
  });
}
