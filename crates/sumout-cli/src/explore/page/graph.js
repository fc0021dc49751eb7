// The network: nodes in layers, functions marked, posteriors in every node; groups can be folded.

import { $, h, plural, s } from "./dom.js";
import { takeEvidence } from "./bars.js";
import { fold, foldedAtFirst, groupsOf } from "./groups.js";
import { layered, scaleOf } from "./layered.js";
import { measureIn } from "./measure.js";
import { Names } from "./names.js";
import { drawNode, markBest, nameHeight, sizeOf, updateNode } from "./nodes.js";
import { emit, on, select, state } from "./state.js";
import { MARGIN, MOST_AT_FIT, Viewport } from "./viewport.js";

const MOST_CHIPS = 24;

/** Nodes show all values if there are no more of them, and they can be read in the window. */
const MOST_CARDS = 60;
const READABLE = 0.8;

/** A window of another shape gets another layout, if the network is not too large for that. */
const RESHAPED = { by: 1.35, nodes: 300 };

/** A folded group with more edges shows them only when it is pointed at. */
const MOST_EDGES = 12;

/** A larger group is not unfolded to show one of its variables. */
const MOST_UNFOLDED = 100;

/** At this scale all of a node can be read. */
const NEAR = 1;

const GAPS = { cards: { x: 24, y: 40, bend: 12 }, names: { x: 16, y: 26, bend: 9 } };

const view = { frame: null, port: null, groups: [], folded: new Set(), cards: null, nodes: [], drawn: [], routes: [], seen: [], layout: null };

export function initGraph() {
  view.frame = $("#graph");
  const [edges, near, nodes] = ["edges", "near", "nodes"].map((name) => s("g", { class: name }));
  Object.assign(view, { edgeLayer: edges, nearLayer: near, nodeLayer: nodes });
  view.port = new Viewport(view.frame, (event) => Boolean(event.target.closest("[data-value]")));
  view.port.svg.append(edges, near, nodes);
  $("#graph-tools").append(view.port.buttons("the network"));
  view.names = new Names(view.frame);
  view.port.onChange(cull);
  view.port.onChange(nameAll);
  takeEvidence(nodes);
  nodes.addEventListener("click", clicked);
  nodes.addEventListener("keydown", (event) => {
    if ((event.key === "Enter" || event.key === " ") && event.target.matches(".node")) clicked(event);
  });
  for (const [enter, leave] of [["pointerover", "pointerout"], ["focusin", "focusout"]]) {
    nodes.addEventListener(enter, (event) => point(event.target.closest(".node")));
    nodes.addEventListener(leave, () => point(null));
  }
  $("#cards").addEventListener("change", (event) => { view.cards = event.target.checked; draw(); });
  on("model", begin);
  on("answer stale compared", update);
  on("evidence", marks);
  on("functions", draw);
  on("selected", () => { marks(); edgesNearSelected(); reveal(); });
  on("filter", marks);
  new ResizeObserver(() => { if (view.frame.clientWidth !== view.width || view.port.isFitted) fitted(); }).observe(view.frame);
}

function fitted() {
  const { clientWidth: width, clientHeight: height } = view.frame;
  view.width = width;
  if (width === 0) return;
  const turn = view.shape ? (width / height) / view.shape : 1;
  if (view.port.isFitted && Math.max(turn, 1 / turn) > RESHAPED.by && view.nodes.length <= RESHAPED.nodes) draw();
  else view.port.fit();
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
  measureIn(view.frame);
  const graph = fold(state.model, view.groups, view.folded);
  Object.assign(view, { nodes: graph.nodes, place: graph.place, edges: graph.edges, quiet: quietEdges(graph) });
  const { cards, sizes, layout } = arrange(graph);
  $("#cards").checked = cards;
  Object.assign(view, { layout, sizes });
  view.drawn = graph.nodes.map((node, k) => {
    const [place, size] = [layout.places[k], sizes[k]];
    return Object.assign(drawNode(node, place, size, cards), { place, size, up: nameHeight(size, cards || node.group) });
  });
  view.nodeLayer.replaceChildren(...view.drawn.map((node) => node.element));
  view.frame.classList.toggle("dense", graph.edges.length > 500);
  view.frame.classList.toggle("lively", graph.nodes.length <= MOST_CARDS);
  Object.assign(view, { routes: layout.edges.filter((points) => points.length > 0).map(drawEdge), seen: [], paths: paths("edge"), pointed: -1 });
  view.edgeLayer.replaceChildren(...view.paths);
  const folded = graph.nodes.length < state.model.variables.length ? `, ${plural(graph.nodes.length, "node")} shown` : "";
  $("#graph-note").textContent = plural(state.model.variables.length, "variable") + folded;
  edgesNearSelected();
  update();
  view.port.hold(layout.box);
  view.port.fit();
}

/** The layout: nodes show their values if that can be read, or if it is wished. */
function arrange(graph) {
  const [width, height] = [view.frame.clientWidth || 1000, view.frame.clientHeight || 750].map((side) => Math.max(80, side - 2 * MARGIN));
  const room = { width, height, scale: MOST_AT_FIT };
  view.shape = view.frame.clientWidth ? width / height : null;
  const edges = graph.edges.map((edge, e) => (view.quiet.has(e) ? [edge[0], edge[0]] : edge)); // loops take no room
  const laid = (cards) => {
    const sizes = graph.nodes.map((node) => sizeOf(node, cards));
    return { cards, sizes, layout: layered(sizes, edges, room, cards ? GAPS.cards : GAPS.names) };
  };
  if (view.cards !== null || graph.nodes.length > MOST_CARDS) return laid(Boolean(view.cards));
  const full = laid(true);
  return scaleOf(full.layout.box, room) >= READABLE ? full : laid(false);
}

/** The edges of folded groups that have too many of them to be drawn at once. */
function quietEdges({ nodes, edges }) {
  const of = nodes.map(() => []);
  edges.forEach(([u, v], e) => { of[u].push(e); if (u !== v) of[v].push(e); });
  const quiet = new Set();
  nodes.forEach((node, k) => {
    node.quiet = node.group && of[k].length > MOST_EDGES ? of[k].length : 0;
    if (node.quiet) of[k].forEach((e) => quiet.add(e));
  });
  return quiet;
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

/** Draws also the edges outside of the window, and all names in their nodes, until the next frame: for a picture of everything. */
export function drawAllEdges() {
  view.seen = view.routes;
  view.frame.classList.remove("mid", "far", "near");
  joined(view.routes, view.paths);
  view.port.draw();
}

/** Writes names at a constant size where those in the nodes are too small to read. */
function nameAll(port) {
  const isFar = port.k * 12 < 10;
  view.frame.classList.toggle("mid", isFar);
  view.frame.classList.toggle("near", port.k >= 1.4);
  if (!isFar) return view.names.hide();
  if (!view.weighed) weigh();
  return view.names.draw(port);
}

/** Which names matter most: what is selected, given or found, then what has most edges. */
function weigh() {
  view.weighed = true;
  const degree = new Array(view.nodes.length).fill(0);
  for (const [u, v] of view.edges) { degree[u] += 1; degree[v] += 1; }
  view.names.hold(view.drawn.map((drawn, k) => {
    const is = (name) => drawn.element.classList.contains(name);
    const weight = 1e6 * is("selected") + 1e4 * (is("given") || is("soft")) + 1e3 * is("group") + degree[k] + Math.min(0.9, drawn.size[0] / 1000);
    const text = drawn.node.variable?.name ?? `${drawn.node.group.pattern} (${drawn.node.group.members.length})`;
    return { text, x: drawn.place.x, y: drawn.place.y + drawn.up, width: drawn.size[0], weight, isFaded: is("faded") };
  }).filter((item) => !item.isFaded));
}

/** Shows the last answer. */
function update() {
  if (!state.model) return;
  for (const drawn of view.drawn) updateNode(drawn, state.answer?.posteriors);
  marks();
}

/** What is given, selected, found, most probable. */
function marks() {
  for (const drawn of view.drawn) {
    const { node, element, rows } = drawn;
    const names = node.group ? node.group.members.map((i) => state.model.variables[i].name) : [node.variable.name];
    const is = (test) => names.some(test);
    element.classList.toggle("given", is((name) => state.given.has(name)));
    element.classList.toggle("soft", is((name) => state.soft.has(name)));
    element.classList.toggle("selected", is((name) => name === state.selected));
    element.classList.toggle("faded", Boolean(state.filter) && !is((name) => name.toLowerCase().includes(state.filter)));
    for (const { value, row } of rows) row.classList.toggle("on", state.given.get(node.variable.name) === value);
    if (node.variable) markBest(drawn, state.mpe?.assignment[node.variable.name]);
  }
  view.weighed = false;
  view.port.draw();
}

/** The edges of what is pointed at, or else of what is selected; also those that are drawn at no other time. */
function edgesNearSelected() {
  const at = view.pointed >= 0 ? view.pointed : view.place?.[state.index.get(state.selected)?.i] ?? -1;
  const near = at < 0 ? [] : view.edges.flatMap((edge, e) => (edge.includes(at) ? [routeOf(e)] : [])).filter((points) => points.length > 0);
  const close = paths("edge close");
  joined(near.map(drawEdge), close);
  view.nearLayer.replaceChildren(...(near.length ? close : []));
}

function routeOf(e) {
  if (!view.quiet.has(e)) return view.layout.edges[e];
  const [u, v] = view.edges[e].map((k) => ({ ...view.layout.places[k], half: view.sizes[k][1] / 2 }));
  if (u.x === v.x && u.y === v.y) return [];
  const down = u.y <= v.y ? 1 : -1;
  return [[u.x, u.y + down * u.half], [v.x, v.y - down * v.half]];
}

function point(element) {
  const k = element ? view.drawn.findIndex((drawn) => drawn.element === element) : -1;
  if (k === view.pointed) return;
  view.pointed = k;
  edgesNearSelected();
}

/** Unfolds the group that hides a variable, unless it is a picture or too large. */
function unfoldFor(i) {
  const group = view.groups.find(({ pattern, members, grid }) => view.folded.has(pattern) && !grid && members.length <= MOST_UNFOLDED && members.includes(i));
  if (group) toggle(group.pattern);
}

/** Brings what is selected into the picture, if it is not there. */
function reveal() {
  if (state.selected && !view.clicking) unfoldFor(state.index.get(state.selected).i);
  const k = view.place?.[state.index.get(state.selected)?.i];
  if (k === undefined || view.clicking) return;
  const { x, y } = view.layout.places[k];
  const { port, frame } = view;
  const [px, py] = [port.x + port.k * x, port.y + port.k * y];
  if (port.k < NEAR || px < 40 || py < 40 || px > frame.clientWidth - 40 || py > frame.clientHeight - 40) port.centre(x, y, NEAR);
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
