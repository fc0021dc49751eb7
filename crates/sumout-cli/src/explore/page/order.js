// The order of the list: as in the network, by name, by change, by entropy, or by the probability of a value.

import { $, h } from "./dom.js";
import { change } from "./compare.js";
import { on, state } from "./state.js";

/** The most values that are offered to sort by: those of most variables. */
const MOST = 8;

const orders = {
  name: (a, b) => a.localeCompare(b, "en", { numeric: true }),
  change: (a, b) => change(b) - change(a),
  entropy: (a, b) => entropy(b) - entropy(a),
};

/** Offers what a model can be sorted by. */
export function initOrder(changed) {
  $("#sort").addEventListener("change", changed);
  on("model", () => {
    const count = new Map();
    for (const { values } of state.model.variables) for (const value of values) count.set(value, (count.get(value) ?? 0) + 1);
    const shared = [...count].filter(([, n]) => n > 1).sort((a, b) => b[1] - a[1]).slice(0, MOST);
    $("#sort-values").replaceChildren(...shared.map(([value]) => h("option", { value: `=${value}` }, `P(${value})`)));
    $("#sort").value = "";
  });
}

export const isSorted = () => $("#sort").value !== "";

/** Whether the order depends on the answer. */
export const isByAnswer = () => isSorted() && $("#sort").value !== "name";

/** Names in the order that is chosen; by a value, only variables that have it. */
export function sorted(names) {
  const by = $("#sort").value;
  if (by === "") return names;
  if (!by.startsWith("=")) return [...names].sort(orders[by]);
  const value = by.slice(1);
  const p = (name) => state.answer?.posteriors[name]?.[value] ?? 0;
  return names.filter((name) => state.index.get(name).values.includes(value)).sort((a, b) => p(b) - p(a));
}

/** In bits. */
function entropy(name) {
  return Object.values(state.answer?.posteriors[name] ?? {}).reduce((sum, p) => (p > 0 ? sum - p * Math.log2(p) : sum), 0);
}
