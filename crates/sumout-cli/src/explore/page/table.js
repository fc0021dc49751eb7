// The CPT of a variable: the rows that the evidence leaves are lit, functions are shown as functions. An edited number
// changes the network at once; it can be undone, and the changed network saved.

import * as api from "./api.js";
import { $, digits, h, label, plural, toast } from "./dom.js";
import { inPageWords } from "./problems.js";
import { on, select, setTables, state } from "./state.js";
import { showWhatIf, withNumber } from "./whatif.js";

/** No more rows than this are shown at once: first those that the evidence leaves. */
const MOST_ROWS = 60;

const table = { name: null, cpt: null, origin: null, history: [], cell: null };

export function initTable() {
  $("#table-close").addEventListener("click", close);
  $("#table-undo").addEventListener("click", undo);
  $("#table-rows").addEventListener("change", edited);
  $("#table-rows").addEventListener("focusin", focused);
  $("#table-whatif").addEventListener("click", whatIf);
  on("evidence", () => { $("#whatif").hidden = true; });
  $("#table-name").addEventListener("click", () => select(table.name));
  on("clicked", (name) => (name && state.selected === name && name !== table.name ? open(name) : close()));
  on("selected", () => { if (table.name && state.selected && state.selected !== table.name) open(state.selected); });
  on("model", () => { Object.assign(table, { origin: state.model.id, history: [] }); close(); });
  on("answer", light);
  on("view", () => { if (!hasRoom()) close(); });
}

/** The other views are no place for a table. */
const hasRoom = () => state.view === "network" || state.view === "beliefs";

/** Opens the table of a variable. */
export async function open(name) {
  if (state.model.markov || !hasRoom()) return;
  const { model } = state;
  try {
    const cpt = await api.table(model.id, name);
    if (state.model !== model || (state.selected && state.selected !== name)) return;
    Object.assign(table, { name, cpt });
    draw();
  } catch (problem) {
    toast(inPageWords(problem));
  }
}

export function close() {
  table.name = null;
  $("#table").hidden = true;
  document.body.classList.remove("has-table");
}

const variable = () => state.index.get(table.name);

/** The values of the parents in a row: the last moves fastest. */
function parentsOf(row) {
  const values = [];
  let rest = row;
  for (const name of [...table.cpt.parents].reverse()) {
    const { values: all } = state.index.get(name);
    values.unshift(all[rest % all.length]);
    rest = Math.floor(rest / all.length);
  }
  return values;
}

/** Whether the evidence leaves the parents their values in a row. */
function isLit(row) {
  const posteriors = state.answer?.posteriors;
  return parentsOf(row).every((value, k) => {
    const name = table.cpt.parents[k];
    return state.given.has(name) ? state.given.get(name) === value : posteriors?.[name]?.[value] !== 0;
  });
}

const isOneHot = (row) => row.every((p) => p === 0 || p === 1);

function draw() {
  const { name, cpt: { parents, rows } } = table;
  table.cell = null;
  $("#whatif").hidden = $("#table-whatif").hidden = true;
  const isFunction = parents.length > 0 && rows.every(isOneHot);
  const all = [...rows.keys()];
  const shown = rows.length <= MOST_ROWS ? all : [...all.filter(isLit), ...all.filter((row) => !isLit(row))].slice(0, MOST_ROWS);
  const heads = isFunction ? [name] : variable().values.map((value) => label(variable(), value));
  $("#table-name").textContent = parents.length ? `P(${name} | ${parents.join(", ")})` : `P(${name})`;
  const kind = isFunction ? "a function of its parents, " : "";
  const rest = shown.length < rows.length ? `, ${shown.length} shown` : "";
  $("#table-note").textContent = `${kind}${plural(rows.length, "row")}${rest}`;
  $("#table-head").replaceChildren(h("tr", {}, ...parents.map((one) => h("th", { scope: "col", class: "parent" }, one)), ...heads.map((one) => h("th", { scope: "col" }, one))));
  $("#table-rows").replaceChildren(...shown.map((row) => line(row, isFunction)));
  $("#table-undo").hidden = $("#table-save").hidden = table.history.length === 0;
  $("#table-save").href = api.fileAddress(state.model.id);
  $("#table-save").download = state.model.name;
  $("#table").classList.toggle("up", isLow(name));
  $("#table").hidden = false;
  document.body.classList.add("has-table");
  light();
}

/** Whether a table in the lower left would cover its node. */
function isLow(name) {
  const node = [...document.querySelectorAll("#graph .node")].find((one) => one.dataset.name === name)?.getBoundingClientRect();
  return Boolean(node) && node.bottom > 0.55 * innerHeight && node.left < 0.5 * innerWidth;
}

function line(row, isFunction) {
  const numbers = table.cpt.rows[row];
  const parents = parentsOf(row).map((value, k) => h("th", { scope: "row", class: "parent" }, label(state.index.get(table.cpt.parents[k]), value)));
  const called = parents.length ? ` if ${table.cpt.parents.map((name, k) => `${name} is ${parents[k].textContent}`).join(", ")}` : "";
  return h("tr", { "data-row": row }, ...parents, ...(isFunction ? [chosen(row, numbers, called)] : numbers.map((p, k) => cell(p, k, called))));
}

function cell(p, k, called) {
  const value = variable().values[k];
  return h("td", { "data-value": value }, h("input", { type: "text", inputmode: "decimal", size: 7, value: digits(p, 8), "data-at": k, autocomplete: "off",
    "aria-label": `Probability of ${label(variable(), value)}${called}` }));
}

function chosen(row, numbers, called) {
  const option = (value, k) => h("option", { value: k, selected: numbers[k] === 1 }, label(variable(), value));
  return h("td", {}, h("select", { "aria-label": `Value of ${table.name}${called}` }, ...variable().values.map(option)));
}

/** Lights the rows and the column that the evidence leaves. */
function light() {
  if (!table.name) return;
  const given = state.given.get(table.name);
  const lines = [...$("#table-rows").children];
  $("#table-rows").classList.toggle("some", !lines.every((tr) => isLit(Number(tr.dataset.row))));
  for (const tr of lines) {
    tr.classList.toggle("lit", isLit(Number(tr.dataset.row)));
    for (const td of tr.querySelectorAll("[data-value]")) td.classList.toggle("given", td.dataset.value === given);
  }
}

/** Takes an edited number: the others of its row share the rest as before. */
function edited(event) {
  const row = Number(event.target.closest("tr").dataset.row);
  const numbers = [...table.cpt.rows[row]];
  const isChoice = event.target.matches("select");
  const at = Number(isChoice ? event.target.value : event.target.dataset.at);
  const wanted = isChoice ? 1 : Number(event.target.value.replace(",", ".").replace(/\s*%$/, "")) / (/%\s*$/.test(event.target.value) ? 100 : 1);
  if (!(wanted >= 0 && wanted <= 1) || event.target.value.trim() === "") {
    toast("A probability is a number from 0 to 1, or a percentage.");
    event.target.value = digits(numbers[at], 8);
    return;
  }
  take(row, at, wanted, `#table-rows [data-row="${row}"] ${isChoice ? "select" : `[data-at="${at}"]`}`);
}

const take = (row, at, wanted, focus) =>
  change({ ...table.history.at(-1), [table.name]: withNumber(table.cpt.rows, row, at, wanted).flat() }, focus);

/** A number that is pointed at can be varied. */
function focused({ target }) {
  if (!target.matches("input")) return;
  table.cell = { row: Number(target.closest("tr").dataset.row), at: Number(target.dataset.at), called: target.getAttribute("aria-label") };
  $("#table-whatif").hidden = false;
}

/** Shows how the posteriors depend on the number. */
async function whatIf() {
  const { name, origin, cpt, cell, history } = table;
  if (!cell || !state.answer) return;
  try {
    await showWhatIf(origin, history.at(-1) ?? {}, { ...cell, name, rows: cpt.rows }, (wanted) => take(cell.row, cell.at, wanted, null));
    $("#whatif input")?.focus();
  } catch (problem) {
    toast(inPageWords(problem));
  }
}

/** Changes the network as it was opened by these tables, and asks again. */
async function change(tables, focus = null) {
  const { name, origin } = table;
  try {
    const model = await (Object.keys(tables).length ? api.change(origin, tables) : api.model(origin));
    if (table.origin !== origin) return;
    table.history.push(tables);
    setTables(model);
    if (name) await open(name);
    if (focus) $(focus)?.focus();
  } catch (problem) {
    toast(inPageWords(problem));
    if (table.name) draw();
  }
}

async function undo() {
  table.history.pop();
  await change(table.history.pop() ?? {});
  if (Object.keys(table.history.at(-1)).length === 0) table.history = [];
  draw();
}
