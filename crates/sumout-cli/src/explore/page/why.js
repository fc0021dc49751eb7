// The cost of a query on each level of knowledge, the trees of two of them, and the sizes of all clusters.

import * as api from "./api.js";
import { $, count, h, plural, power, times, waitFor } from "./dom.js";
import { groupsOf } from "./groups.js";
import { drawProfile } from "./profile.js";
import { emit, on, state } from "./state.js";
import { TreeView } from "./tree.js";

const LEVELS = [
  ["classical", "best classical", "factors only"],
  ["functional", "functional", "which variables are functions"],
  ["tables", "tables", "also which functions"],
  ["support", "support", "also which states can be reached"],
];

/** A smaller gain is not worth a word. */
const WORTH = 1.2;

const view = { trees: [], plans: new Map(), abort: null, shown: null };

export function initWhy() {
  view.trees = ["classical", "chosen"].map((side) => new TreeView($(`#tree-${side}`), $(`#tools-${side}`), `the ${side} tree`));
  $("#plan-form").addEventListener("submit", (event) => { event.preventDefault(); asked(); });
  $("#plan-level").addEventListener("change", () => { state.question = { ...state.question, level: $("#plan-level").value }; emit("planned"); showChosen(); });
  $("#plan-cancel").addEventListener("click", () => view.abort?.abort());
  on("model tables", () => { view.shown = null; view.abort?.abort(); });
  on("view model tables", () => { if (state.view === "why" && view.shown !== state.model) begin(); });
}

/** What is worth asking of a model: its picture's target, or everything. */
function usual() {
  const picture = groupsOf(state.model).find((group) => group.grid);
  const target = ["label", "d", "digit", "class"].find((name) => state.index.has(name));
  const hasFunctions = state.model.variables.some((v) => v.functional || v.declared);
  const level = hasFunctions ? "functional" : "auto";
  return picture && target ? { target, given: [picture.pattern], level } : { target: "", given: [], level };
}

function begin() {
  view.shown = state.model;
  const known = state.question ?? usual();
  state.question = known;
  $("#plan-target").value = known.target ?? "";
  $("#plan-given").value = (known.given ?? []).join(" ");
  $("#plan-level").value = known.level ?? "auto";
  $("#names").replaceChildren(...state.model.variables.slice(0, 2000).map((v) => h("option", { value: v.name })));
  compute();
}

function asked() {
  const given = $("#plan-given").value.split(/[\s,]+/).filter(Boolean);
  state.question = { target: $("#plan-target").value.trim(), given, level: $("#plan-level").value };
  emit("planned");
  compute();
}

/** Plans on one level after the other, and shows each as it comes. */
async function compute() {
  view.abort?.abort();
  const abort = new AbortController();
  const { model, question: { target, given } } = state;
  Object.assign(view, { abort, plans: new Map() });
  ladder();
  problem(null);
  for (const level of order()) {
    const begun = performance.now();
    const tick = setInterval(() => busy(`planning: ${level}`, (performance.now() - begun) / 1000), 250);
    try {
      const plan = await api.plan(model.id, { target: target || null, given, level }, abort.signal);
      view.plans.set(level, plan);
      ladder();
      if (level === "classical") view.trees[0].show(plan.tree);
      if (level === state.question.level) showChosen();
    } catch (error) {
      if (error.name !== "AbortError") problem(error);
      break;
    } finally {
      clearInterval(tick);
      if (view.abort === abort) busy();
    }
  }
}

/** First what is shown, then the rest. */
function order() {
  const all = ["classical", state.question.level, "functional", "tables", "support"];
  return all.filter((level, k) => all.indexOf(level) === k);
}

function busy(text = "", seconds = 0) {
  if (text) waitFor($("#plan-status"), text, seconds);
  else $("#plan-status").textContent = "";
  $("#plan-cancel").hidden = text === "";
}

function problem(error) {
  $("#plan-problem").hidden = !error;
  $("#plan-problem").textContent = error?.text || error?.message || "";
}

async function showChosen() {
  const level = state.question.level;
  if (!view.plans.has(level)) return view.abort?.signal.aborted || $("#plan-cancel").hidden ? compute() : undefined;
  const { tree, report } = view.plans.get(level);
  view.trees[1].show(tree);
  const copies = report.steps.copies;
  const dropped = tree.nodes.reduce((sum, node) => sum + node.dropped.length, 0);
  const words = dropped > 0
    ? `${plural(copies, "copy").replace("copys", "copies")} of functions let variables be dropped in ${plural(dropped, "place")}`
    : "no variable can be dropped sooner";
  const note = report.level === "support" ? ". The tables of this tree are stored on reachable states only, so they are smaller than it says" : "";
  $("#chosen-name").textContent = level === "auto" ? `chosen: ${report.level}` : level;
  $("#chosen-note").textContent = `${words}${note}.`;
  ladder();
  return profile();
}

function profile() {
  const sizes = (level) => view.plans.get(level)?.tree.nodes.map((n) => n.cluster).filter((x) => x === null || x > 0) ?? [];
  const chosen = state.question.level;
  drawProfile($("#profile"), [
    { name: "best classical", kind: "classical", sizes: sizes("classical") },
    ...(chosen === "classical" ? [] : [{ name: chosen === "auto" ? "chosen" : chosen, kind: "chosen", sizes: sizes(chosen) }]),
  ]);
}

/** A bar for each level, on a logarithmic scale. */
function ladder() {
  const classical = view.plans.get("classical")?.report;
  const rows = [];
  if (classical) rows.push({ name: "classical", note: "one min-fill run", cost: classical.classical });
  for (const [level, name, note] of LEVELS) rows.push({ level, name, note, cost: view.plans.get(level)?.report });
  if (state.question.level === "auto" && view.plans.has("auto")) {
    const { report } = view.plans.get("auto");
    rows.push({ level: "auto", name: "chosen", note: `by predicted cost: ${report.level}`, cost: report });
  }
  const most = Math.max(...rows.map((row) => log(row.cost?.entries ?? 1)), 1);
  $("#ladder tbody").replaceChildren(...rows.map((row) => rung(row, most)));
  $("#saved").textContent = saved(classical);
}

const log = (n) => (n === null ? 1024 : Math.log2(Math.max(1, n)));

function rung({ level, name, note, cost }, most) {
  const bar = h("span", { class: "bar" });
  bar.style.width = cost ? `${Math.max(1, (100 * log(cost.entries)) / most).toFixed(1)}%` : "0";
  const isChosen = level === state.question.level;
  const cells = cost
    ? [count(cost.entries), count(cost.multiply_adds), power(cost.max_cluster_binary_rank)]
    : ["…", "…", "…"];
  return h("tr", { class: [isChosen ? "chosen" : "", level ?? ""].join(" ") },
    h("th", { scope: "row" }, name, " ", h("small", {}, note)), h("td", { class: "wide" }, h("span", { class: "track" }, bar)),
    ...cells.map((text) => h("td", { class: "figure" }, text)));
}

/** The gain in words, beside the best classical plan; a smaller table that takes more work is no gain. */
function saved(classical) {
  const better = [...view.plans.values()].map((plan) => plan.report).filter((report) => isNoMore(report.multiply_adds, classical?.multiply_adds));
  const best = better.reduce((least, report) => (log(report.entries) < log(least.entries) ? report : least), classical);
  if (!classical || view.plans.size < 2) return "";
  const factor = (classical.entries ?? Infinity) / (best.entries ?? Infinity);
  if (!(factor >= WORTH)) return `${count(classical.entries)} numbers to store, ${count(classical.multiply_adds)} multiply-adds. Functions save nothing here.`;
  return `${count(best.entries)} numbers instead of ${count(classical.entries)}: ${times(factor)} times smaller than classical elimination.`;
}

const isNoMore = (a, b) => log(a) <= log(b ?? 1) + 1e-9;
