// The list of variables: every value with its bar. The evidence, P(e) and the most probable explanation are above it.

import * as api from "./api.js";
import { $, digits, figure, h, label, percent, plural, toast } from "./dom.js";
import { barName, takeEvidence } from "./bars.js";
import { before } from "./compare.js";
import { groupsOf } from "./groups.js";
import { initOrder, isByAnswer, isSorted, sorted } from "./order.js";
import { clear, clearAll, emit, on, question, select, setMany, state } from "./state.js";

/** No more variables than this are listed at once; a search finds the others. */
const MOST = 100;

const list = { groups: [], opened: new Set(), more: new Set(), rows: [], explaining: null };

export function initBeliefs() {
  takeEvidence($("#list"));
  $("#list").addEventListener("click", (event) => {
    const name = event.target.closest("[data-name]")?.dataset.name;
    if (event.target.closest(".clear")) clear(name);
    else if (event.target.closest("h3 button")) {
      select(name === state.selected ? null : name);
      emit("clicked", name);
    }
  });
  initOrder(draw);
  $("#list").addEventListener("pointerdown", () => { list.isHeld = true; });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, released);
  $("#clear-all").addEventListener("click", clearAll);
  $("#explain").addEventListener("click", explain);
  $("#search").addEventListener("input", (event) => filter(event.target.value));
  $("#search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") select(found()[0] ?? null);
    if (event.key === "Escape") { event.target.value = ""; filter(""); }
  });
  on("model", () => { Object.assign(list, { groups: groupsOf(state.model), opened: new Set(), more: new Set() }); $("#search").value = ""; state.filter = ""; draw(); });
  on("functions", draw);
  on("model evidence tables", () => list.explaining?.abort());
  on("evidence", () => { summary(); marks(); });
  on("answer stale", () => { summary(); probability(); update(); reorder(); });
  on("compared", () => { update(); reorder(); });
  on("selected", reveal);
}

function filter(text) {
  state.filter = text.trim().toLowerCase();
  emit("filter");
  draw();
}

/** Puts the list in order again, but never under a hand that drags. */
function reorder() {
  if (!isByAnswer()) return;
  if (list.isHeld) { list.isLate = true; return; }
  const { variable, value } = document.activeElement?.dataset ?? {};
  draw();
  if (variable) list.rows.find((row) => row.name === variable && row.value === value)?.row.focus({ preventScroll: true });
}

function released() {
  list.isHeld = false;
  if (list.isLate) setTimeout(reorder, 0);
  list.isLate = false;
}

const found = () => sorted(state.model.variables.map((v) => v.name).filter((name) => name.toLowerCase().includes(state.filter)));

/** The whole list: single variables, then groups to be opened; while searching, what is found. */
function draw() {
  list.rows = [];
  const names = found();
  const items = [];
  if (state.filter || isSorted()) {
    items.push(...cards("", names));
    if (names.length === 0) items.push(h("p", { class: "quiet" }, "No variable has this in its name."));
  } else {
    const grouped = new Set(list.groups.flatMap((group) => group.members.map((i) => state.model.variables[i].name)));
    const single = names.filter((name) => !grouped.has(name));
    items.push(...cards("", single), ...list.groups.map((group) => section(group, single.length === 0 && list.groups.length === 1)));
  }
  $("#list").replaceChildren(...items);
  update();
  summary();
  probability();
}

function cards(key, names) {
  const shown = list.more.has(key) ? names : names.slice(0, MOST);
  const rest = names.length - shown.length;
  const more = h("button", { type: "button", class: "more", onclick: () => { list.more.add(key); draw(); } }, `Show ${rest} more`);
  return [...shown.map(card), ...(rest > 0 ? [more] : [])];
}

/** A group; what is in it is made when it is opened. */
function section({ pattern, members }, isOpen) {
  const names = namesOf({ members });
  const box = h("details", { class: "section" }, h("summary", {}, pattern, " ", h("small", {}, plural(names.length, "variable"))));
  const open = () => { if (box.childElementCount === 1) { box.append(...cards(pattern, names)); update(); } };
  box.addEventListener("toggle", () => {
    if (box.open) { list.opened.add(pattern); open(); } else list.opened.delete(pattern);
  });
  if (isOpen || list.opened.has(pattern)) { open(); box.open = true; }
  return box;
}

function card(name) {
  const variable = state.index.get(name);
  const isFunction = variable.functional || variable.declared;
  const mark = isFunction ? h("abbr", { class: "mark", title: "a function of its parents" }, "ƒ") : null;
  const box = h("section", { class: "card", "data-name": name, "aria-label": name },
    h("h3", {}, h("button", { type: "button", title: "Show in the network" }, name), mark,
      h("button", { type: "button", class: "clear icon", "aria-label": `Clear the evidence on ${name}`, title: "Clear" }, "×")));
  for (const value of variable.values) {
    const [fill, ghost, number] = [h("span", { class: "bar" }), h("span", { class: "ghost" }), h("span", { class: "number" })];
    const row = h("button", { type: "button", class: "row", "data-variable": name, "data-value": value },
      h("span", { class: "value", title: value }, label(variable, value)), " ", h("span", { class: "track" }, fill, ghost), number);
    box.append(row);
    list.rows.push({ name, value, row, fill, ghost, number, box });
  }
  return box;
}

function update() {
  for (const { name, value, row, fill, ghost, number } of list.rows) {
    const p = state.answer?.posteriors[name]?.[value];
    const was = before(name, value);
    fill.style.width = `${(100 * (p ?? 0)).toFixed(2)}%`;
    ghost.hidden = was === null;
    ghost.style.width = `${(100 * (was ?? 0)).toFixed(2)}%`;
    row.title = was === null ? "" : `before: ${percent(was)}`;
    number.textContent = p === undefined ? "–" : percent(p);
    if (p !== undefined) row.dataset.p = p;
    else delete row.dataset.p;
  }
  marks();
}

function marks() {
  for (const { name, value, row, box } of list.rows) {
    const isOn = state.given.get(name) === value;
    row.setAttribute("aria-pressed", isOn);
    row.setAttribute("aria-label", barName(name, value, state.answer?.posteriors[name]?.[value]));
    row.classList.toggle("best", state.mpe?.assignment[name] === value);
    box.classList.toggle("given", state.given.has(name));
    box.classList.toggle("soft", state.soft.has(name));
    box.classList.toggle("selected", state.selected === name);
  }
}

function reveal() {
  const name = state.selected;
  if (name && !list.rows.some((row) => row.name === name)) {
    const group = list.groups.find((g) => g.members.some((i) => state.model.variables[i].name === name));
    if (state.filter) { $("#search").value = ""; filter(""); }
    if (group) { list.opened.add(group.pattern); list.more.add(group.pattern); } else list.more.add("");
    draw();
  }
  marks();
  list.rows.find((row) => row.name === name)?.box.scrollIntoView({ block: "nearest" });
}

/** Evidence as chips, and the explanation. */
function summary() {
  const alone = new Map(state.given);
  const many = list.groups.map((group) => [group, namesOf(group).filter((name) => alone.has(name))]).filter(([, names]) => names.length > 6);
  many.forEach(([, names]) => names.forEach((name) => alone.delete(name)));
  const chips = many.map(([{ pattern, members }, names]) => chip(names, `${pattern}: ${names.length} of ${members.length} given`))
    .concat([...alone].map(([name, value]) => chip([name], `${name} = ${label(state.index.get(name), value)}`)))
    .concat([...state.soft].map(([name, numbers]) => chip([name], `${name} ~ ${numbers.join(" : ")}`, true)));
  const most = 12;
  const rest = chips.length > most ? [h("span", { class: "quiet" }, `and ${chips.length - most} more`)] : [];
  const none = h("span", { class: "quiet" }, "none yet: click a value, or drag its bar");
  $("#chips").replaceChildren(...(chips.length ? [...chips.slice(0, most), ...rest] : [none]));
  $("#clear-all").hidden = chips.length === 0;
  explanation();
}

const namesOf = (group) => group.members.map((i) => state.model.variables[i].name);

const chip = (names, text, isSoft = false) => h("button", {
  type: "button", class: isSoft ? "chip soft" : "chip given", "aria-label": `Take back ${text}`, onclick: () => setMany(names.map((name) => [name, null])),
}, text, h("span", { "aria-hidden": "true" }, " ×"));

/** Which findings of impossible evidence cannot be true together, with buttons that take one back. */
async function conflict() {
  const asked = JSON.stringify(question());
  const found = await api.conflict(state.model.id, question()).catch(() => null);
  if (!found || !state.impossible || asked !== JSON.stringify(question())) return;
  const said = (name) => (state.given.has(name) ? `${name} = ${label(state.index.get(name), state.given.get(name))}` : `the soft evidence on ${name}`);
  const button = (name) => h("button", { type: "button", onclick: () => clear(name) }, `Take back ${said(name)}`);
  const words = { 0: "No joint state of the network has a probability above 0.", 1: "It has probability 0 in this network:" };
  $("#conflict").replaceChildren(h("p", {}, words[found.conflict.length] ?? "These cannot be true together:"), ...found.conflict.slice(0, 12).map(button));
  $("#conflict").hidden = false;
}

/** The probability of the evidence that the last answer is about. */
function probability() {
  const findings = state.given.size + state.soft.size;
  const box = $("#probability");
  box.classList.toggle("impossible", Boolean(state.impossible));
  if (!state.impossible) $("#conflict").hidden = true;
  if (state.impossible) {
    box.replaceChildren(h("strong", {}, "impossible"), h("span", {}, "This evidence has probability 0: no answer."));
    conflict();
    return;
  }
  const log = state.answer?.log_evidence;
  const name = state.model?.markov ? "Z(e)" : "P(e)";
  if (log === undefined || (findings === 0 && !state.model.markov)) { box.replaceChildren(); return; }
  const exp = Math.exp(log);
  const shown = Math.abs(log) < 690 ? figure(exp, 4) : "";
  box.replaceChildren(
    ...(shown ? [h("span", {}, `${name} = `, h("strong", {}, shown))] : []), h("span", { class: "quiet" }, `ln ${name} = ${digits(log, 7)}`));
}

/** Finds the explanation; while it does, the button cancels. Other evidence needs another explanation. */
async function explain() {
  if (list.explaining) return list.explaining.abort();
  const abort = new AbortController();
  list.explaining = abort;
  const [button, begun] = [$("#explain"), performance.now()];
  const words = button.textContent;
  const tick = setInterval(() => { button.textContent = `Explaining … ${((performance.now() - begun) / 1000).toFixed(0)} s (cancel)`; }, 250);
  try {
    explained(await api.mpe(state.model.id, question(), abort.signal));
  } catch (problem) {
    if (problem.name !== "AbortError") toast(problem.message);
  } finally {
    clearInterval(tick);
    button.textContent = words;
    list.explaining = null;
  }
  return undefined;
}

function explained(mpe) {
  state.mpe = mpe.impossible ? null : mpe;
  if (mpe.impossible) toast("The evidence is impossible, so that there is no explanation.");
  emit("answer");
}

function explanation() {
  const box = $("#mpe");
  box.hidden = !state.mpe;
  if (!state.mpe) return;
  const entries = Object.entries(state.mpe.assignment);
  const line = ([name, value]) => h("li", { class: state.given.has(name) ? "given" : "" }, h("b", {}, name), " ", h("span", {}, label(state.index.get(name), value)));
  const rest = entries.length > 60 ? [h("li", { class: "quiet" }, `and ${entries.length - 60} more, marked ◆ in the list`)] : [];
  const given = state.answer && state.given.size + state.soft.size > 0 ? `; given the evidence, its probability is ${percent(Math.exp(state.mpe.log_probability - state.answer.log_evidence))}` : "";
  box.replaceChildren(
    h("p", {}, `Most probable joint assignment, `, h("span", { class: "diamond" }, "◆"), ` in the list and the network: ln P = ${digits(state.mpe.log_probability, 7)}${given}.`),
    h("ul", { tabindex: 0, "aria-label": "Most probable joint assignment" }, ...entries.slice(0, 60).map(line), ...rest));
}
