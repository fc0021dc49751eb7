// Names at a constant size on the screen, where the picture is too far away to read its own: as on a map, the most
// important first, and as many as have room.

import { h } from "./dom.js";
import { clipped, widthOf } from "./measure.js";

const SIZE = 11;
const HEIGHT = 16;
const PAD = 4;
const MOST = 150;

/** Names may be shifted by these parts of what they and their nodes are wide. */
const SHIFTS = [0, -0.2, 0.2];

/** A part of a name has at least this width, and is written only if there are no more names. */
const LEAST = 36;
const CLIPPED = 300;

export class Names {
  constructor(frame) {
    this.layer = h("div", { class: "names", "aria-hidden": true, hidden: true });
    frame.append(this.layer);
    Object.assign(this, { spans: [], items: [] });
  }

  /** Takes what is to be named: {text, x, y, width, weight} in the units of the picture. */
  hold(items) {
    this.items = items.map((item) => ({ ...item, wide: widthOf(item.text, SIZE, 600) + 2 * PAD })).sort((a, b) => b.weight - a.weight);
  }

  hide() {
    this.layer.hidden = true;
  }

  /** Writes names where they do not cover one another. */
  draw({ x, y, k, frame }) {
    this.layer.hidden = false;
    const [right, bottom] = [frame.clientWidth, frame.clientHeight];
    const taken = new Taken();
    let used = 0;
    for (const item of this.items) {
      const [middle, top] = [x + k * item.x, y + k * item.y - HEIGHT / 2];
      if (middle < 0 || middle > right || top < 0 || top + HEIGHT > bottom) continue;
      const found = this.room(item, middle, top, k, right, taken);
      if (!found) continue;
      this.write(used, item, found, top, k);
      used += 1;
      if (used === MOST) break;
    }
    for (let rest = used; rest < this.spans.length && !this.spans[rest].hidden; rest += 1) this.spans[rest].hidden = true;
  }

  /** A free place over a node: in the middle, to a side, or for a part of the name. */
  room(item, middle, top, k, right, taken) {
    const own = k * item.width;
    const tries = SHIFTS.map((shift) => ({ text: item.text, wide: item.wide, left: middle - item.wide / 2 + shift * (item.wide + own) }));
    if (own >= LEAST && item.wide > own && this.items.length <= CLIPPED) tries.push({ text: clipped(item.text, own - 2 * PAD, SIZE, 600), wide: own, left: middle - own / 2 });
    for (const one of tries) {
      one.left = Math.max(0, Math.min(one.left, right - one.wide));
      if (taken.take(one.left, top, one.wide, HEIGHT)) return one;
    }
    return null;
  }

  write(at, item, { text, left, wide }, top, k) {
    if (at === this.spans.length) {
      this.spans.push(h("span"));
      this.layer.append(this.spans[at]);
    }
    const span = this.spans[at];
    if (span.hidden) span.hidden = false;
    if (span.textContent !== text) span.textContent = text;
    span.className = wide <= k * item.width ? "inside" : "outside";
    span.style.transform = `translate(${left.toFixed(1)}px, ${top.toFixed(1)}px)`;
  }
}

/** The places that are taken, in a coarse grid. */
class Taken {
  constructor() {
    this.cells = new Map();
  }

  /** Takes a rectangle, if it is free. */
  take(left, top, width, height) {
    const box = [left, top, left + width, top + height];
    const keys = [];
    for (let i = Math.floor(left / 64); i <= (left + width) / 64; i += 1) {
      for (let j = Math.floor(top / 32); j <= (top + height) / 32; j += 1) keys.push(i * 4096 + j);
    }
    const isFree = (key) => !(this.cells.get(key) ?? []).some((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3]);
    if (!keys.every(isFree)) return false;
    for (const key of keys) this.cells.set(key, [...(this.cells.get(key) ?? []), box]);
    return true;
  }
}
