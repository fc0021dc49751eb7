// A jointree: the root on the left, messages flow to it. Variables that functions remove from a separator are red.
//
// Of a large tree the most expensive nodes are shown, as many as can be read; one that is cut says how many are below it, and opens when clicked.

import { count, plural, s } from "./dom.js";
import { Viewport } from "./viewport.js";

const LINE = 15;
const LETTER = 6.7;
const LONGEST = 30;
const MOST_LINES = 4;
const GAP = { x: 46, y: 10 };
const LOWEST = 190;
const AT_FIRST = [41, 31, 23, 17, 13, 9, 7, 5, 3];
const READABLE = 0.92; // letters of 10 pixels

export class TreeView {
  constructor(frame, tools, what) {
    Object.assign(this, { frame, port: new Viewport(frame) });
    tools.append(this.port.buttons(what));
    frame.addEventListener("click", (event) => this.clicked(event));
    frame.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") this.clicked(event); });
    new ResizeObserver(() => { if (frame.clientWidth !== this.width) { this.width = frame.clientWidth; if (this.tree) this.begin(); } }).observe(frame);
  }

  show(tree) {
    this.tree = tree;
    this.begin();
  }

  /** Opens as many nodes as can be read in the frame. */
  begin() {
    this.frame.style.height = "";
    for (const most of AT_FIRST) {
      this.open = costliest(this.tree.nodes, most);
      this.draw();
      if (this.port.fits(READABLE)) break;
    }
    this.frame.style.height = `${Math.min(this.frame.clientHeight, Math.max(LOWEST, this.port.tall(READABLE)))}px`;
    this.port.begin(READABLE);
  }

  clicked(event) {
    const at = event.target.closest("[data-node]")?.dataset.node;
    if (at === undefined || (event.type === "click" && this.port.wasDragged)) return;
    const index = Number(at);
    if (this.open.has(index)) this.close(index);
    else costliest(this.tree.nodes, 15, index).forEach((node) => this.open.add(node));
    this.draw();
    this.port.svg.querySelector(`[data-node="${index}"]`)?.focus();
  }

  close(index) {
    this.open.delete(index);
    this.tree.nodes[index].children?.forEach((child) => this.close(child));
  }

  draw() {
    const { nodes } = this.tree;
    const root = nodes.length - 1;
    const cards = new Map();
    const visit = (index, depth) => {
      const isOpen = this.open.has(index) && nodes[index].children;
      cards.set(index, { ...cardOf(nodes[index], !isOpen), depth, children: isOpen ? nodes[index].children : [] });
      if (isOpen) nodes[index].children.forEach((child) => visit(child, depth + 1));
    };
    visit(root, 0);
    this.port.hold(place(cards, root));
    const edges = [...cards.values()].flatMap((card) => card.children.map((child) => edge(card, cards.get(child))));
    this.port.svg.replaceChildren(s("path", { class: "edge", d: edges.join("") }),
      ...[...cards].map(([index, card]) => drawCard(index, card, nodes[index], index === root)));
  }
}

/** Nodes whose children are shown: from a root down, always the one with most work next. */
function costliest(nodes, most, root = nodes.length - 1) {
  const opened = new Set();
  const waiting = [root];
  while (waiting.length > 0 && opened.size * 2 < most) {
    const next = waiting.reduce((best, index, k) => (nodes[index].work > nodes[waiting[best]].work ? k : best), 0);
    const [index] = waiting.splice(next, 1);
    if (!nodes[index].children) continue;
    opened.add(index);
    waiting.push(...nodes[index].children);
  }
  return opened;
}

/** The lines of a node, each of words with a style. */
function cardOf(node, isClosed) {
  const words = (names, style, form = (x) => x) => names.map((name) => ({ text: clip(form(name)), style }));
  const lines = wrap([...words(node.title ? [node.title] : [], "title"), ...words(node.evidence, "evidence", (x) => `λ(${x})`)]);
  if (!node.is_whole || node.dropped.length > 0) lines.push(...wrap([...words(node.kept, "kept"), ...words(node.dropped, "dropped")]));
  lines.push([{ text: `${count(node.size)} ${node.size === 1 ? "entry" : "entries"}`, style: "note" }]);
  if (node.cluster > 0) lines.push([{ text: `cluster of ${count(node.cluster)}`, style: "note" }]);
  if (isClosed && node.children) lines.push([{ text: `▸ ${plural(node.below, "node")} below`, style: "note" }]);
  const columns = Math.max(...lines.map((line) => line.reduce((sum, word) => sum + word.text.length + 1, -1)));
  return { lines, width: columns * LETTER + 18, height: lines.length * LINE + 10 };
}

const clip = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

function wrap(words) {
  const lines = [];
  let used = Infinity;
  for (const [k, word] of words.entries()) {
    if (used + word.text.length + 1 > LONGEST + 1) {
      if (lines.length === MOST_LINES) {
        lines.push([{ text: `… and ${words.length - k} more`, style: "note" }]);
        break;
      }
      lines.push([]);
      used = 0;
    }
    used += word.text.length + 1;
    lines.at(-1).push(word);
  }
  return lines;
}

/** Places cards: a column for each depth, parents between their children, subtrees as close as outlines allow. */
function place(cards, root) {
  const outline = (index) => {
    const card = cards.get(index);
    const own = [[-card.height / 2, card.height / 2]];
    if (card.children.length === 0) return own;
    const [upper, lower] = card.children.map(outline);
    let apart = 0;
    for (let d = 0; d < Math.min(upper.length, lower.length); d += 1) apart = Math.max(apart, upper[d][1] - lower[d][0] + GAP.y);
    card.shift = [-apart / 2, apart / 2];
    for (let d = 0; d < Math.max(upper.length, lower.length); d += 1) {
      own.push([upper[d] ? upper[d][0] - apart / 2 : lower[d][0] + apart / 2, lower[d] ? lower[d][1] + apart / 2 : upper[d][1] - apart / 2]);
    }
    return own;
  };
  const levels = outline(root);
  const widths = levels.map((_, d) => Math.max(...[...cards.values()].filter((card) => card.depth === d).map((card) => card.width)));
  const lefts = widths.map((_, d) => widths.slice(0, d).reduce((sum, width) => sum + width + GAP.x, 0));
  const put = (index, y) => {
    const card = cards.get(index);
    Object.assign(card, { x: lefts[card.depth], y });
    card.children.forEach((child, k) => put(child, y + card.shift[k]));
  };
  put(root, 0);
  const [top, bottom] = [Math.min(...levels.map((l) => l[0])), Math.max(...levels.map((l) => l[1]))];
  return { left: 0, right: lefts.at(-1) + widths.at(-1), top, bottom };
}

function edge(parent, child) {
  const [x0, x1] = [parent.x + parent.width, child.x];
  const middle = ((x0 + x1) / 2).toFixed(1);
  return `M${x0.toFixed(1)} ${parent.y.toFixed(1)}C${middle} ${parent.y.toFixed(1)} ${middle} ${child.y.toFixed(1)} ${x1.toFixed(1)} ${child.y.toFixed(1)}`;
}

function drawCard(index, card, node, isRoot) {
  const kind = ["clique", node.varies ? "" : "same", node.is_copy ? "copy" : "", isRoot ? "root" : ""].join(" ");
  const element = s("g", { class: kind, transform: `translate(${card.x.toFixed(1)} ${(card.y - card.height / 2).toFixed(1)})` },
    s("rect", { class: "box", width: card.width.toFixed(1), height: card.height, rx: 6 }));
  if (node.children) {
    element.dataset.node = index;
    element.setAttribute("tabindex", "0");
    element.setAttribute("role", "button");
    const dropped = node.dropped.length ? `; dropped: ${node.dropped.join(", ")}` : "";
    element.setAttribute("aria-label", card.lines.flat().map((word) => word.text).join(" ") + dropped);
  }
  card.lines.forEach((line, k) => {
    let left = 9;
    for (const { text, style } of line) {
      element.append(s("text", { class: style, x: left.toFixed(1), y: 17 + LINE * k }, text), " ");
      left += (text.length + 1) * LETTER;
    }
  });
  return element;
}
