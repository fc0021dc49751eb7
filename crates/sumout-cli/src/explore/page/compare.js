// Changes: posteriors beside those without evidence, or beside a state that was pinned.

import * as api from "./api.js";
import { $, h, label, percent } from "./dom.js";
import { emit, on, select, state } from "./state.js";

const MOST = 5;

/** Smaller changes are not shown. */
const LEAST = 0.005;

const compare = { prior: null, pinned: null, kind: "prior" };

export function initCompare() {
  on("model", begin);
  on("answer", answered);
  on("tables", () => { $("#base [value=prior]").textContent = "no evidence, unedited"; });
  on("answer stale evidence", moved);
  $("#base").addEventListener("change", () => use($("#base").value));
  $("#pin").addEventListener("click", pin);
}

function begin() {
  Object.assign(compare, { prior: null, pinned: null, asked: false });
  $("#base [value=prior]").textContent = "no evidence";
  use("prior");
}

/** The first answer without evidence is the prior; if a link begins with evidence, it is asked for once. */
async function answered() {
  const { model } = state;
  if (compare.prior || !state.answer) return;
  if (state.answer.isPrior) return known(state.answer.posteriors);
  if (compare.asked) return;
  compare.asked = true;
  const answer = await api.query(model.id, {}).catch(() => null);
  if (answer && !answer.impossible && state.model === model) known(answer.posteriors);
}

function known(prior) {
  compare.prior = prior;
  use(compare.kind);
}

function pin() {
  if (!state.answer) return;
  const found = [...state.given].map(([name, value]) => `${name} = ${label(state.index.get(name), value)}`).concat([...state.soft.keys()].map((name) => `${name} ~`));
  compare.pinned = { posteriors: state.answer.posteriors, label: found.length === 0 ? "no evidence" : found.length > 2 ? `${found.length} findings` : found.join(", ") };
  use("pinned");
}

/** Compares with the prior, a pinned state, or nothing. */
function use(kind) {
  compare.kind = kind;
  const pinned = compare.pinned;
  $("#base [value=pinned]").disabled = !pinned;
  $("#base [value=pinned]").textContent = pinned ? `pinned: ${pinned.label}` : "a pinned state";
  $("#base").value = kind;
  state.base = { prior: compare.prior, pinned: pinned?.posteriors }[kind] ?? null;
  emit("compared");
  moved();
}

/** The probability of a value in what is compared with, if it has moved since. */
export function before(name, value) {
  const [was, is] = [state.base?.[name]?.[value], state.answer?.posteriors[name]?.[value]];
  return was === undefined || is === undefined || Math.abs(was - is) < LEAST ? null : was;
}

/** How far the posterior of a variable moved: half the sum of all changes. */
export function change(name) {
  const [was, is] = [state.base?.[name], state.answer?.posteriors[name]];
  if (!was || !is) return 0;
  return Object.keys(is).reduce((sum, value) => sum + Math.abs(is[value] - was[value]), 0) / 2;
}

/** The list of those that moved most, besides what is given. */
function moved() {
  const names = state.answer && state.base ? Object.keys(state.answer.posteriors).filter((name) => !state.given.has(name)) : [];
  const far = names.map((name) => [name, change(name)]).filter(([, by]) => by >= LEAST).sort((a, b) => b[1] - a[1]);
  $("#moved").hidden = far.length === 0;
  $("#moved-list").replaceChildren(...far.slice(0, MOST).map(([name]) => line(name)));
  document.activeElement?.closest("#list .row")?.scrollIntoView({ block: "nearest" }); // this list may cover it now
  const rest = far.length - MOST;
  $("#moved-rest").textContent = rest > 0 ? `and ${rest.toLocaleString("en")} more: sort the list by change` : "";
}

/** The value of a variable that changed most, before and now. */
function line(name) {
  const [was, is] = [state.base[name], state.answer.posteriors[name]];
  const value = Object.keys(is).reduce((best, one) => (Math.abs(is[one] - was[one]) > Math.abs(is[best] - was[best]) ? one : best));
  const sign = is[value] > was[value] ? "▲" : "▼";
  return h("li", {}, h("button", { type: "button", class: "moved", onclick: () => select(name) },
    h("b", {}, name), ` ${label(state.index.get(name), value)} `, h("span", { class: "figures" }, `${percent(was[value])} → ${percent(is[value])} `, h("span", { "aria-hidden": "true" }, sign))));
}
