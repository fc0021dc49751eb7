// The drawing pad: pixels are evidence. The model fills in pixels that are not painted.

import * as api from "./api.js";
import { $, h, label, percent, s, toast } from "./dom.js";
import { barName, takeEvidence } from "./bars.js";
import { groupsOf } from "./groups.js";
import { on, setMany, state } from "./state.js";

const SIDE = 30;

const pad = { grid: null, target: null, cells: [], brush: "on", stroke: null, at: 0 };

export function initPad() {
  const svg = $("#pad");
  svg.addEventListener("pointerdown", press);
  svg.addEventListener("pointermove", move);
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { pad.isPainting = false; });
  svg.addEventListener("contextmenu", (event) => event.preventDefault());
  svg.addEventListener("keydown", keys);
  for (const input of document.querySelectorAll("[name=brush]")) input.addEventListener("change", () => { pad.brush = input.value; });
  $("#pad-rest").addEventListener("click", () => fillRest());
  $("#pad-clear").addEventListener("click", () => setMany(names().map((name) => [name, null])));
  $("#pad-sample").addEventListener("click", sample);
  takeEvidence($("#pad-target"));
  on("model", begin);
  on("answer stale evidence", update);
}

const names = () => pad.grid.at.map((i) => state.model.variables[i].name);

function begin() {
  pad.grid = groupsOf(state.model).find((group) => group.grid)?.grid ?? null;
  $("#tab-pad").hidden = !pad.grid;
  if (!pad.grid) return;
  pad.target = ["label", "d", "digit", "class"].find((name) => state.index.has(name))
    ?? state.model.variables.find((v) => v.parents.length === 0)?.name;
  drawCells();
  drawTarget();
  update();
}

function drawCells() {
  const { rows, columns } = pad.grid;
  const svg = $("#pad");
  svg.setAttribute("viewBox", `0 0 ${columns * SIDE} ${rows * SIDE}`);
  svg.setAttribute("aria-label", `Drawing pad of ${rows} by ${columns} pixels: arrows move, space paints, delete clears`);
  pad.cells = names().map((name, k) => {
    const [x, y] = [(k % columns) * SIDE, Math.floor(k / columns) * SIDE];
    const ground = s("rect", { class: "ground", x: x + 0.5, y: y + 0.5, width: SIDE - 1, height: SIDE - 1, rx: 3 });
    const ink = s("rect", { class: "ink", x: x + 0.5, y: y + 0.5, width: SIDE - 1, height: SIDE - 1, rx: 3 });
    return { name, ground, ink };
  });
  pad.cursor = s("rect", { class: "cursor", width: SIDE, height: SIDE, rx: 4 });
  svg.replaceChildren(...pad.cells.flatMap(({ ground, ink }) => [ground, ink]), pad.cursor);
  moveTo(0);
}

function drawTarget() {
  const variable = state.index.get(pad.target);
  pad.bars = variable.values.map((value) => {
    const [fill, number] = [h("span", { class: "bar" }), h("span", { class: "number" })];
    const row = h("button", { type: "button", class: "row", "data-variable": pad.target, "data-value": value },
      h("span", { class: "value" }, label(variable, value)), " ", h("span", { class: "track" }, fill), number);
    return { value, row, fill, number };
  });
  $("#pad-target").replaceChildren(h("h2", {}, { d: "digit" }[pad.target] ?? pad.target), ...pad.bars.map((bar) => bar.row));
}

/** Painted pixels are full squares, imagined ones smaller, as dark as they are probable. */
function update() {
  if (!pad.grid) return;
  const posteriors = state.answer?.posteriors;
  for (const { name, ground, ink } of pad.cells) {
    const given = state.given.get(name);
    ground.classList.toggle("known", given !== undefined);
    ink.classList.toggle("known", given !== undefined);
    const p = given === undefined ? posteriors?.[name]?.[pad.grid.on] ?? 0 : Number(given === pad.grid.on);
    ink.setAttribute("fill-opacity", p.toFixed(3));
  }
  const known = posteriors?.[pad.target];
  const best = known ? Math.max(...Object.values(known)) : 0;
  for (const { value, row, fill, number } of pad.bars) {
    const p = known?.[value];
    fill.style.width = `${(100 * (p ?? 0)).toFixed(2)}%`;
    number.textContent = p === undefined ? "–" : percent(p);
    row.classList.toggle("winner", p !== undefined && p === best && best > 0.5);
    row.setAttribute("aria-pressed", state.given.get(pad.target) === value);
    row.setAttribute("aria-label", barName(pad.target, value, p));
  }
}

/** The cell under a pointer. In a low window the picture is smaller than its element. */
function cellAt(event) {
  const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform($("#pad").getScreenCTM().inverse());
  const [column, row] = [Math.floor(x / SIDE), Math.floor(y / SIDE)];
  const isInside = row >= 0 && column >= 0 && row < pad.grid.rows && column < pad.grid.columns;
  return isInside ? row * pad.grid.columns + column : -1;
}

/** The left button paints, the right one paints the opposite; a second press on the same takes it back. */
function press(event) {
  const k = cellAt(event);
  if (k < 0) return;
  event.preventDefault();
  $("#pad").focus({ preventScroll: true });
  $("#pad").setPointerCapture(event.pointerId);
  const opposite = { on: "off", off: "on", clear: "clear" };
  const wanted = valueOf(event.button === 2 ? opposite[pad.brush] : pad.brush);
  pad.stroke = state.given.get(pad.cells[k].name) === wanted ? null : wanted;
  pad.isPainting = true;
  pad.last = k;
  moveTo(k);
  paint([k]);
}

const valueOf = (brush) => ({ on: pad.grid.on, off: pad.grid.off, clear: null })[brush];

function move(event) {
  const k = pad.isPainting && event.buttons !== 0 ? cellAt(event) : -1;
  if (k < 0 || k === pad.last) return;
  paint(between(pad.last, k));
  pad.last = k;
  moveTo(k);
}

/** All cells on the way from one to another: a quick hand leaves no gaps. */
function between(from, to) {
  const { columns } = pad.grid;
  const [r0, c0, r1, c1] = [Math.floor(from / columns), from % columns, Math.floor(to / columns), to % columns];
  const steps = Math.max(Math.abs(r1 - r0), Math.abs(c1 - c0));
  return Array.from({ length: steps }, (_, i) => {
    const t = (i + 1) / steps;
    return Math.round(r0 + t * (r1 - r0)) * columns + Math.round(c0 + t * (c1 - c0));
  });
}

const paint = (cells) => setMany(cells.map((k) => [pad.cells[k].name, pad.stroke]));

function moveTo(k) {
  pad.at = k;
  pad.cursor.setAttribute("x", (k % pad.grid.columns) * SIDE);
  pad.cursor.setAttribute("y", Math.floor(k / pad.grid.columns) * SIDE);
}

function keys(event) {
  const { rows, columns } = pad.grid;
  const [row, column] = [Math.floor(pad.at / columns), pad.at % columns];
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const paints = { " ": pad.brush, Enter: pad.brush, Delete: "clear", Backspace: "clear", 1: "on", 0: "off" };
  if (moves[event.key]) {
    const [r, c] = [row + moves[event.key][0], column + moves[event.key][1]];
    if (r >= 0 && c >= 0 && r < rows && c < columns) moveTo(r * columns + c);
  } else if (event.key in paints) {
    const wanted = valueOf(paints[event.key]);
    pad.stroke = state.given.get(pad.cells[pad.at].name) === wanted ? null : wanted;
    paint([pad.at]);
  } else {
    return;
  }
  event.preventDefault();
}

function fillRest() {
  const rest = names().filter((name) => !state.given.has(name));
  if (rest.length === 0) toast("All pixels are painted already.");
  else setMany(rest.map((name) => [name, pad.grid.off]));
}

/** An image that the model draws itself, with its noise. */
async function sample() {
  try {
    const { assignment } = await api.sample(state.model.id, Math.floor(Math.random() * 1e9));
    setMany(names().map((name) => [name, assignment[name]]));
  } catch (problem) {
    toast(problem.message);
  }
}
