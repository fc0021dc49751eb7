// The network: nodes in layers, functions marked, posteriors in every node; groups can be folded.

import { $, h, plural, s, short } from "./dom.js";
import { barName, takeEvidence } from "./bars.js";
import { fold, foldedAtFirst, groupsOf } from "./groups.js";
import { layered } from "./layered.js";
import { emit, on, select, state } from "./state.js";
import { Viewport } from "./viewport.js";

const WIDTH = 158;
const TITLE = 24;
const ROW = 17;
const MOST_ROWS = 6;
const MOST_CHIPS = 24;
const MOST_CARDS = 40; // with more nodes, each is a name and a strip
const BAR = { x: 70, width: 52 };

const view = { frame: null, port: null, groups: [], folded: new Set(), cards: null, nodes: [], drawn: [], routes: [], seen: [], layout: null };

export function initGraph() {
  view.frame = $("#graph");
  const [edges, near, nodes] = ["edges", "near", "nodes"].map((name) => s("g", { class: name }));
  Object.assign(view, { edgeLayer: edges, nearLayer: near, nodeLayer: nodes });
  view.port = new Viewport(view.frame, (event) => Boolean(event.target.closest("[data-value]")));
  view.port.svg.append(edges, near, nodes);
  $("#graph-tools").append(view.port.buttons("the network"));
  view.port.onChange(cull);
  takeEvidence(nodes);
  nodes.addEventListener("click", clicked);
  nodes.addEventListener("keydown", (event) => {
    if ((event.key === "Enter" || event.key === " ") && event.target.matches(".node")) clicked(event);
  });
  $("#cards").addEventListener("change", (event) => { view.cards = event.target.checked; draw(); });
  on("model", begin);
  on("answer stale", update);
  on("evidence", marks);
  on("selected", () => { marks(); edgesNearSelected(); reveal(); });
  on("filter", marks);
  new ResizeObserver(() => { if (view.frame.clientWidth !== view.width || view.port.isFitted) fitted(); }).observe(view.frame);
}

function fitted() {
  view.width = view.frame.clientWidth;
  view.port.fit();
}

function begin() {
  view.groups = groupsOf(state.model);
  view.folded = foldedAtFirst(state.model, view.groups);
  view.cards = null;
  groupButtons();
  draw();
}

function groupButtons() {
  const button = ({ pattern, members }) => h("button", {
    type: "button", class: "chip", "aria-pressed": view.folded.has(pattern), title: "Fold or unfold these variables",
    onclick: () => toggle(pattern),
  }, `${pattern} `, h("small", {}, String(members.length)));
  const isAll = view.folded.size === view.groups.length;
  const all = h("button", { type: "button", class: "quiet", onclick: () => foldThese(isAll ? [] : view.groups.map((g) => g.pattern)) }, isAll ? "none" : "all");
  $("#groups").replaceChildren(...view.groups.slice(0, MOST_CHIPS).map(button), all);
  $("#groups-box").hidden = view.groups.length === 0;
}

const toggle = (pattern) => foldThese(view.folded.has(pattern) ? [...view.folded].filter((other) => other !== pattern) : [...view.folded, pattern]);

function foldThese(patterns) {
  view.folded = new Set(patterns);
  groupButtons();
  draw();
}

/** Lays out and draws everything. */
function draw() {
  const graph = fold(state.model, view.groups, view.folded);
  const cards = view.cards ?? graph.nodes.length <= MOST_CARDS;
  $("#cards").checked = cards;
  view.nodes = graph.nodes;
  view.place = graph.place;
  view.edges = graph.edges;
  const sizes = graph.nodes.map((node) => sizeOf(node, cards));
  view.layout = layered(sizes, graph.edges);
  view.drawn = graph.nodes.map((node, k) => {
    const [place, size] = [view.layout.places[k], sizes[k]];
    return Object.assign(drawNode(node, place, size, cards), { place, size });
  });
  view.nodeLayer.replaceChildren(...view.drawn.map((node) => node.element));
  view.frame.classList.toggle("dense", graph.edges.length > 500);
  Object.assign(view, { routes: view.layout.edges.filter((points) => points.length > 0).map(drawEdge), seen: [], paths: paths("edge") });
  view.edgeLayer.replaceChildren(...view.paths);
  const folded = graph.nodes.length < state.model.variables.length ? `, ${plural(graph.nodes.length, "node")} shown` : "";
  $("#graph-note").textContent = plural(state.model.variables.length, "variable") + folded;
  edgesNearSelected();
  update();
  view.port.hold(view.layout.box);
  view.port.fit();
}

function sizeOf(node, cards) {
  if (node.group) return node.group.grid ? [WIDTH, 132] : [WIDTH, 46];
  const rows = Math.min(node.variable.values.length, MOST_ROWS);
  return cards ? [WIDTH, TITLE + ROW * rows + 6] : [Math.min(WIDTH, 34 + 7 * Math.max(6, node.variable.name.length)), 32];
}

/** An edge as parts of paths, with the box that it is in. */
function drawEdge(points) {
  const [[x1, y1], [, y0]] = [points.at(-1), points.at(-2)];
  const arrow = state.model.markov ? "" : `M${x1.toFixed(1)} ${y1.toFixed(1)}l-3.5 ${y1 > y0 ? -7 : 7}h7z`;
  const [xs, ys] = [points.map((p) => p[0]), points.map((p) => p[1])];
  return { line: curve(points), arrow, box: [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)] };
}

/** All edges as one path, and all arrows as another: two elements, however many edges. */
function joined(edges, [lines, arrows]) {
  lines.setAttribute("d", edges.map((edge) => edge.line).join(""));
  arrows.setAttribute("d", edges.map((edge) => edge.arrow).join(""));
}

const paths = (name) => [s("path", { class: name }), s("path", { class: `${name} arrow` })];

function curve(points) {
  let path = `M${points[0][0].toFixed(1)} ${points[0][1].toFixed(1)}`;
  for (let i = 1; i < points.length; i += 1) {
    const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]];
    const middle = ((y0 + y1) / 2).toFixed(1);
    path += `C${x0.toFixed(1)} ${middle} ${x1.toFixed(1)} ${middle} ${x1.toFixed(1)} ${y1.toFixed(1)}`;
  }
  return path;
}

function drawNode(node, { x, y }, [width, height], cards) {
  const element = s("g", { class: "node", transform: `translate(${(x - width / 2).toFixed(1)} ${(y - height / 2).toFixed(1)})` });
  const box = s("rect", { class: "box", width, height, rx: 7 });
  if (node.group) return drawGroup(node, element, box, width);
  const { variable } = node;
  element.dataset.name = variable.name;
  element.setAttribute("tabindex", "-1");
  element.setAttribute("role", "group");
  element.setAttribute("aria-label", variable.name + (variable.functional ? ", a function of its parents" : ""));
  element.append(box);
  if (variable.functional || variable.declared) {
    element.classList.add("function");
    element.append(s("rect", { class: "inner", x: 3, y: 3, width: width - 6, height: height - 6, rx: 5 }));
  }
  const mark = variable.functional || variable.declared ? 14 : 0;
  const label = s("text", { class: "name", x: 9, y: cards ? 17 : 15 }, clip(variable.name, (width - 18 - mark) / 7));
  element.append(s("title", {}, variable.name), label);
  if (mark) element.append(s("text", { class: "mark", x: width - 16, y: cards ? 17 : 15 }, "ƒ"));
  const drawn = { node, element, rows: [] };
  if (cards) drawRows(drawn);
  else drawStrip(drawn, width);
  return drawn;
}

const clip = (text, most) => (text.length > most ? `${text.slice(0, Math.max(1, Math.floor(most) - 1))}…` : text);

function drawRows(drawn) {
  const { variable } = drawn.node;
  variable.values.slice(0, MOST_ROWS).forEach((value, k) => {
    const isMore = k === MOST_ROWS - 1 && variable.values.length > MOST_ROWS;
    const top = TITLE + ROW * k;
    if (isMore) {
      drawn.element.append(s("text", { class: "value", x: 9, y: top + 12 }, `… ${variable.values.length - k} more`));
      return;
    }
    const row = s("g", { class: "row", role: "button", tabindex: "-1", "data-variable": variable.name, "data-value": value });
    const bar = s("rect", { class: "bar", x: BAR.x, y: top + 3, width: 0, height: 10, rx: 2 });
    const number = s("text", { class: "number", x: WIDTH - 8, y: top + 12 });
    row.append(
      s("rect", { class: "hit", x: 4, y: top, width: WIDTH - 8, height: ROW, rx: 4 }),
      s("text", { class: "value", x: 9, y: top + 12 }, clip(value, 8.5)), " ",
      s("rect", { class: "track", x: BAR.x, y: top + 3, width: BAR.width, height: 10, rx: 2 }), bar, number);
    drawn.element.append(row);
    drawn.rows.push({ value, row, bar, number });
  });
}

function drawStrip(drawn, width) {
  drawn.strip = drawn.node.variable.values.slice(0, 12).map((value, k) => {
    const part = s("rect", { class: `part p${k % 4}`, y: 22, height: 5, width: 0 });
    drawn.element.append(part);
    return { value, part };
  });
  drawn.inner = width - 16;
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
  const note = functions === members.length ? `${members.length} functions ƒ` : plural(members.length, "variable");
  element.append(shadow, box, s("text", { class: "name", x: 9, y: 18 }, clip(pattern, 19)), s("text", { class: "value", x: 9, y: 35 }, note));
  const drawn = { node, element, rows: [], cells: [] };
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

/** Takes what is outside of the window out of the picture: what is not seen takes time, too, when it is scaled. */
function cull({ x, y, k, frame }) {
  const [left, top] = [-x / k, -y / k];
  const [right, bottom] = [left + frame.clientWidth / k, top + frame.clientHeight / k];
  for (const drawn of view.drawn) {
    const { x: cx, y: cy } = drawn.place;
    const [wide, tall] = [drawn.size[0] / 2, drawn.size[1] / 2];
    const isOut = cx + wide < left || cx - wide > right || cy + tall < top || cy - tall > bottom;
    if (isOut === drawn.isOut) continue;
    drawn.isOut = isOut;
    drawn.element.classList.toggle("out", isOut);
  }
  const seen = view.routes.filter(({ box }) => box[0] <= right && box[1] >= left && box[2] <= bottom && box[3] >= top);
  if (seen.length === view.seen.length && seen.every((edge, e) => edge === view.seen[e])) return;
  view.seen = seen;
  joined(seen, view.paths);
}

/** Draws also the edges outside of the window, until the next frame: for a picture of everything. */
export function drawAllEdges() {
  view.seen = view.routes;
  joined(view.routes, view.paths);
  view.port.draw();
}

/** Shows the last answer. */
function update() {
  if (!state.model) return;
  const posteriors = state.answer?.posteriors;
  for (const drawn of view.drawn) {
    const known = posteriors?.[drawn.node.variable?.name];
    for (const { value, row, bar, number } of drawn.rows) {
      const p = known?.[value];
      bar.setAttribute("width", (BAR.width * (p ?? 0)).toFixed(1));
      number.textContent = p === undefined ? "" : short(p);
      row.setAttribute("aria-label", barName(drawn.node.variable.name, value, p, number.textContent));
    }
    if (drawn.strip) updateStrip(drawn, known);
    for (const [i, cell] of drawn.cells ?? []) {
      const { name, values } = state.model.variables[i];
      cell.setAttribute("fill-opacity", (posteriors?.[name]?.[values[0]] ?? 0).toFixed(3));
    }
  }
  marks();
}

function updateStrip({ strip, inner }, known) {
  let left = 8;
  for (const { value, part } of strip) {
    const width = inner * (known?.[value] ?? 0);
    part.setAttribute("x", left.toFixed(1));
    part.setAttribute("width", Math.max(0, width - 0.5).toFixed(1));
    left += width;
  }
}

/** What is given, selected, found, most probable. */
function marks() {
  for (const { node, element, rows } of view.drawn) {
    const names = node.group ? node.group.members.map((i) => state.model.variables[i].name) : [node.variable.name];
    const is = (test) => names.some(test);
    element.classList.toggle("given", is((name) => state.given.has(name)));
    element.classList.toggle("soft", is((name) => state.soft.has(name)));
    element.classList.toggle("selected", is((name) => name === state.selected));
    element.classList.toggle("faded", Boolean(state.filter) && !is((name) => name.toLowerCase().includes(state.filter)));
    for (const { value, row } of rows) {
      row.classList.toggle("on", state.given.get(node.variable.name) === value);
      row.classList.toggle("best", state.mpe?.assignment[node.variable.name] === value);
    }
  }
}

function edgesNearSelected() {
  const at = view.place?.[state.index.get(state.selected)?.i] ?? -1;
  const near = at < 0 ? [] : view.layout.edges.filter((points, e) => points.length > 0 && view.edges[e].includes(at));
  const close = paths("edge close");
  joined(near.map(drawEdge), close);
  view.nearLayer.replaceChildren(...(near.length ? close : []));
}

/** Brings what is selected into the picture, if it is not there. */
function reveal() {
  const k = view.place?.[state.index.get(state.selected)?.i];
  if (k === undefined || view.clicking) return;
  const { x, y } = view.layout.places[k];
  const { port, frame } = view;
  const [px, py] = [port.x + port.k * x, port.y + port.k * y];
  if (port.k < 0.3 || px < 40 || py < 40 || px > frame.clientWidth - 40 || py > frame.clientHeight - 40) port.centre(x, y);
}

function clicked(event) {
  const node = event.target.closest(".node");
  if (!node || event.target.closest("[data-value]") || (event.type === "click" && view.port.wasDragged)) return;
  if (node.dataset.pattern) return toggle(node.dataset.pattern);
  view.clicking = true;
  select(node.dataset.name === state.selected ? null : node.dataset.name);
  view.clicking = false;
  emit("clicked", node.dataset.name);
}
