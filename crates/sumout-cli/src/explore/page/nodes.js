// The nodes of the network's picture: cards with all values, names with a strip of their posterior, and folded groups.

import { label, plural, s, short } from "./dom.js";
import { barName } from "./bars.js";
import { before } from "./compare.js";
import { clipped, widthOf } from "./measure.js";
import { state } from "./state.js";

const TITLE = 24;
const ROW = 17;
const MOST_ROWS = 6;
const CARD = { least: 158, most: 230 };
const SMALL = { least: 64, most: 190, height: 37 };
const GROUP = { width: 158, height: 46, picture: 132 };
const BAR = { right: 88, width: 50 };
const SIDE = 9;

/** The size of letters: names, values, and what is added to a name and a strip when they are near. */
const SIZE = { name: 12, value: 11, detail: 7 };

const isFunction = (variable) => variable.functional || variable.declared;
const between = (least, x, most) => Math.max(least, Math.min(x, most));

/** The size of a node: as wide as its name needs, up to a limit. */
export function sizeOf(node, cards) {
  if (node.group) return [GROUP.width, node.group.grid ? GROUP.picture : GROUP.height];
  const wide = Math.ceil(widthOf(node.variable.name, SIZE.name, 600)) + 2 * SIDE + (isFunction(node.variable) ? 14 : 0);
  if (!cards) return [between(SMALL.least, wide, SMALL.most), SMALL.height];
  return [between(CARD.least, wide, CARD.most), TITLE + ROW * Math.min(node.variable.values.length, MOST_ROWS) + 6];
}

/** Where a name stands in its node, from the middle. */
export const nameHeight = ([, height], cards) => (cards ? TITLE / 2 + 1 - height / 2 : -5);

export function drawNode(node, { x, y }, [width, height], cards) {
  const element = s("g", { class: "node", transform: `translate(${(x - width / 2).toFixed(1)} ${(y - height / 2).toFixed(1)})` });
  const box = s("rect", { class: "box", width, height, rx: 7 });
  if (node.group) return drawGroup(node, element, box, width);
  const { variable } = node;
  element.dataset.name = variable.name;
  element.setAttribute("tabindex", "-1");
  element.setAttribute("role", "group");
  element.setAttribute("aria-label", variable.name + (isFunction(variable) ? ", a function of its parents" : ""));
  element.append(box);
  if (isFunction(variable)) {
    element.classList.add("function");
    element.append(s("rect", { class: "inner", x: 3, y: 3, width: width - 6, height: height - 6, rx: 5 }));
  }
  const mark = isFunction(variable) ? 14 : 0;
  const top = cards ? 17 : 16;
  const name = s("text", { class: "name", x: SIDE, y: top }, clipped(variable.name, width - 2 * SIDE - mark, SIZE.name, 600));
  element.append(s("title", {}, variable.name), name);
  if (mark) element.append(s("text", { class: "mark", x: width - 16, y: top }, "ƒ"));
  const drawn = { node, element, width, rows: [] };
  if (cards) drawRows(drawn);
  else drawStrip(drawn);
  return drawn;
}

function drawRows(drawn) {
  const { node: { variable }, width } = drawn;
  const left = width - BAR.right;
  variable.values.slice(0, MOST_ROWS).forEach((value, k) => {
    const isMore = k === MOST_ROWS - 1 && variable.values.length > MOST_ROWS;
    const top = TITLE + ROW * k;
    if (isMore) {
      drawn.element.append(s("text", { class: "value", x: SIDE, y: top + 12 }, `… ${variable.values.length - k} more`));
      return;
    }
    const row = s("g", { class: "row", role: "button", tabindex: "-1", "data-variable": variable.name, "data-value": value });
    const best = s("text", { class: "best", x: left - 13, y: top + 12 }, "◆");
    const bar = s("rect", { class: "bar", x: left, y: top + 3, width: 0, height: 10, rx: 2 });
    const ghost = s("rect", { class: "ghost", x: left, y: top + 2.5, width: 0, height: 11, rx: 2 });
    const number = s("text", { class: "number", x: width - 8, y: top + 12 });
    row.append(
      s("rect", { class: "hit", x: 4, y: top, width: width - 8, height: ROW, rx: 4 }),
      s("text", { class: "value", x: SIDE, y: top + 12 }, clipped(label(variable, value), left - SIDE - 16, SIZE.value, 700)), " ",
      s("rect", { class: "track", x: left, y: top + 3, width: BAR.width, height: 10, rx: 2 }), bar, ghost, best, number);
    drawn.element.append(row);
    drawn.rows.push({ value, row, bar, ghost, number });
  });
}

function drawStrip(drawn) {
  drawn.strip = drawn.node.variable.values.slice(0, 12).map((value, k) => {
    const part = s("rect", { class: `part p${k % 4}`, y: 21, height: 5, width: 0 });
    drawn.element.append(part);
    return { value, part };
  });
  drawn.detail = s("text", { class: "detail", x: SIDE, y: 33.5 });
  drawn.element.append(drawn.detail);
}

function drawGroup(node, element, box, width) {
  const { pattern, members, grid } = node.group;
  element.classList.add("group");
  Object.assign(element.dataset, { pattern });
  element.setAttribute("role", "button");
  element.setAttribute("tabindex", "-1");
  element.setAttribute("aria-label", `${pattern}: ${members.length} variables, folded; press to unfold`);
  const shadow = s("rect", { class: "box shadow", x: 5, y: 5, width: box.getAttribute("width"), height: box.getAttribute("height"), rx: 7 });
  const functions = members.filter((i) => state.model.variables[i].functional).length;
  const note = (functions === members.length ? `${members.length} functions ƒ` : plural(members.length, "variable")) + (node.quiet ? `, ${node.quiet} edges` : "");
  element.append(shadow, box, s("text", { class: "name", x: SIDE, y: 18 }, clipped(pattern, width - 2 * SIDE, SIZE.name, 600)),
    s("text", { class: "value", x: SIDE, y: 35 }, clipped(note, width - 2 * SIDE, SIZE.value)));
  const drawn = { node, element, width, rows: [], cells: [] };
  if (grid) {
    const side = Math.min(82 / grid.rows, (width - 18) / grid.columns);
    grid.at.forEach((i, k) => {
      const [row, column] = [Math.floor(k / grid.columns), k % grid.columns];
      const cell = s("rect", { class: "cell", x: (9 + side * column).toFixed(2), y: (42 + side * row).toFixed(2), width: side.toFixed(2), height: side.toFixed(2) });
      element.append(cell);
      drawn.cells.push([i, cell]);
    });
  }
  return drawn;
}

/** Shows posteriors in a node. */
export function updateNode(drawn, posteriors) {
  const known = posteriors?.[drawn.node.variable?.name];
  for (const { value, row, bar, ghost, number } of drawn.rows) {
    const p = known?.[value];
    ghost.setAttribute("width", (BAR.width * (before(drawn.node.variable.name, value) ?? 0)).toFixed(1));
    bar.setAttribute("width", (BAR.width * (p ?? 0)).toFixed(1));
    number.textContent = p === undefined ? "" : short(p);
    row.setAttribute("aria-label", barName(drawn.node.variable.name, value, p, number.textContent));
  }
  if (drawn.strip) {
    updateStrip(drawn, known);
    updateGhost(drawn);
  }
  for (const [i, cell] of drawn.cells ?? []) {
    const { name, values } = state.model.variables[i];
    cell.setAttribute("fill-opacity", (posteriors?.[name]?.[values[0]] ?? 0).toFixed(3));
  }
}

function updateStrip({ node, strip, detail, width }, known) {
  const inner = width - 16;
  let left = 8;
  for (const { value, part } of strip) {
    const wide = inner * (known?.[value] ?? 0);
    part.setAttribute("x", left.toFixed(1));
    part.setAttribute("width", Math.max(0, wide - 0.5).toFixed(1));
    left += wide;
  }
  const [value, p] = Object.entries(known ?? {}).reduce((best, one) => (one[1] > best[1] ? one : best), ["", -1]);
  detail.textContent = p < 0 ? "" : clipped(`${label(node.variable, value)} ${short(p)} %`, width - 2 * SIDE, SIZE.detail);
}

/** Marks where the parts of a strip ended before, if they moved. */
function updateGhost(drawn) {
  const { element, node: { variable }, strip, width } = drawn;
  const has = strip.some(({ value }) => before(variable.name, value) !== null);
  if (!has && !drawn.ghost) return;
  if (!drawn.ghost) {
    drawn.ghost = s("path", { class: "ghost" });
    element.append(drawn.ghost);
  }
  let left = 8;
  const ends = has ? strip.slice(0, -1).map(({ value }) => { left += (width - 16) * (state.base[variable.name]?.[value] ?? 0); return `M${left.toFixed(1)} 19.5v8`; }) : [];
  drawn.ghost.setAttribute("d", ends.join(""));
}

/** Marks a value of the most probable explanation, or none. */
export function markBest(drawn, value) {
  for (const { value: own, row } of drawn.rows) row.classList.toggle("best", own === value);
  if (!drawn.strip || (value === undefined && !drawn.best)) return;
  if (!drawn.best) {
    drawn.best = s("path", { class: "best" });
    drawn.element.append(drawn.best);
  }
  const at = drawn.strip.findIndex((one) => one.value === value);
  const [x, wide] = ["x", "width"].map((side) => Number(drawn.strip[at]?.part.getAttribute(side) ?? 0));
  drawn.best.setAttribute("d", at < 0 ? "" : `M${(x + wide / 2).toFixed(1)} 18.5l5 5l-5 5l-5 -5z`);
}
