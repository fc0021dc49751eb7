// Pan and zoom for a picture: wheel, drag, pinch, buttons and keys.
//
// The picture as a whole is transformed, and not what is in it: text in SVG is laid out anew when its scale changes.

import { eachFrame, h, s } from "./dom.js";

/** Milliseconds. */
const MOMENT = 220;

const LEAST = 0.04;
const MOST = 3;
export const MARGIN = 16;

/** Pictures are hardly enlarged to fill their frame. */
export const MOST_AT_FIT = 1.15;

/** Puts a picture, `svg`, into a frame. `blocks` tells of a press whether it is meant for something else. */
export class Viewport {
  constructor(frame, blocks = () => false) {
    Object.assign(this, { frame, svg: s("svg"), blocks, x: 0, y: 0, k: 1, box: null, pointers: new Map(), listeners: [] });
    frame.append(this.svg);
    this.draw = eachFrame(() => this.apply());
    frame.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    frame.addEventListener("pointerdown", (event) => this.press(event));
    frame.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) frame.addEventListener(end, (event) => this.release(event));
    frame.addEventListener("keydown", (event) => this.key(event));
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  apply() {
    const [x, y] = [this.x + this.k * (this.box?.left ?? 0), this.y + this.k * (this.box?.top ?? 0)];
    this.svg.style.transform = `translate(${x.toFixed(2)}px, ${y.toFixed(2)}px) scale(${this.k.toFixed(4)})`;
    this.frame.classList.toggle("far", this.k < 0.3);
    this.listeners.forEach((listener) => listener(this));
  }

  /** Says what box the picture is in. */
  hold(box) {
    const [width, height] = [box.right - box.left, box.bottom - box.top];
    if (!Number.isFinite(width)) return;
    this.box = box;
    this.svg.setAttribute("viewBox", `${box.left} ${box.top} ${width} ${height}`);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", height);
    this.draw();
  }

  /** The scale at which the picture fills the frame. */
  scale(margin) {
    const { width, height } = this.frame.getBoundingClientRect();
    const [w, h] = [this.box.right - this.box.left, this.box.bottom - this.box.top];
    return Math.min((width - 2 * margin) / Math.max(w, 1), (height - 2 * margin) / Math.max(h, 1));
  }

  /** Whether all of the picture can be seen at a scale. */
  fits(scale) {
    return this.scale(MARGIN) >= scale;
  }

  /** The height of a frame that holds the picture at a scale, or all of it. */
  tall(scale) {
    return (this.box.bottom - this.box.top) * Math.max(scale, Math.min(this.scale(MARGIN), MOST_AT_FIT)) + 2 * MARGIN;
  }

  /** Shows the picture as a whole, but hardly enlarges it. */
  fit(margin = MARGIN) {
    this.gliding = null;
    const { box } = this;
    const { width, height } = this.frame.getBoundingClientRect();
    if (!box || width === 0) return;
    const h = box.bottom - box.top;
    this.isFitted = true;
    this.k = Math.min(MOST, Math.max(LEAST, Math.min(this.scale(margin), MOST_AT_FIT)));
    this.x = (width - this.k * (box.left + box.right)) / 2;
    this.y = h * this.k < height - 2 * margin ? (height - this.k * (box.top + box.bottom)) / 2 : margin - this.k * box.top;
    this.draw();
  }

  /** Shows as much of the picture as can be read, from the middle of its left side. */
  begin(least) {
    this.fit();
    if (this.k >= least) return;
    this.isFitted = false;
    this.k = least;
    this.x = 16 - least * this.box.left;
    const [height, { top, bottom }] = [this.frame.clientHeight, this.box];
    this.y = least * (bottom - top) + 2 * MARGIN <= height ? (height - least * (top + bottom)) / 2 : height / 2;
    this.draw();
  }

  /** Brings a point to the middle, near enough to read. */
  centre(x, y, least) {
    const { width, height } = this.frame.getBoundingClientRect();
    const k = Math.max(this.k, least);
    this.glide({ x: width / 2 - k * x, y: height / 2 - k * y, k });
  }

  /** Moves to another place in a moment, or at once for those who want no motion. */
  glide(to) {
    const [from, begun] = [{ x: this.x, y: this.y, k: this.k }, performance.now()];
    const last = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : MOMENT;
    const gliding = {};
    Object.assign(this, { gliding, isFitted: false });
    const step = () => {
      if (this.gliding !== gliding) return;
      const t = last === 0 ? 1 : Math.min(1, (performance.now() - begun) / last);
      const part = t * (2 - t);
      for (const key of ["x", "y", "k"]) this[key] = from[key] + part * (to[key] - from[key]);
      this.apply();
      if (t < 1) requestAnimationFrame(step);
      else this.gliding = null;
    };
    step();
  }

  /** Zooms about a point of the window, or about the middle. */
  zoom(factor, at = null) {
    this.gliding = null;
    const box = this.frame.getBoundingClientRect();
    const [px, py] = at ? [at[0] - box.left, at[1] - box.top] : [box.width / 2, box.height / 2];
    const k = Math.min(MOST, Math.max(LEAST, this.k * factor));
    this.isFitted = false;
    this.x = px - (px - this.x) * (k / this.k);
    this.y = py - (py - this.y) * (k / this.k);
    this.k = k;
    this.draw();
  }

  pan(dx, dy) {
    this.gliding = null;
    this.isFitted = false;
    this.x += dx;
    this.y += dy;
    this.draw();
  }

  wheel(event) {
    event.preventDefault();
    const step = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey) return this.pan(-step * event.deltaY, 0);
    return this.zoom(Math.exp(-0.0016 * step * event.deltaY), [event.clientX, event.clientY]);
  }

  press(event) {
    if (event.button !== 0 || this.blocks(event)) return;
    this.pointers.set(event.pointerId, [event.clientX, event.clientY]);
    this.moved = 0;
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const now = [event.clientX, event.clientY];
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    if (this.moved > 4 && !this.frame.hasPointerCapture(event.pointerId)) this.frame.setPointerCapture(event.pointerId);
    if (other) {
      const far = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]) || 1;
      this.zoom(far(now) / far(before), [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]);
    } else {
      this.pan(now[0] - before[0], now[1] - before[1]);
    }
    this.pointers.set(event.pointerId, now);
  }

  release(event) {
    this.pointers.delete(event.pointerId);
  }

  /** Whether the press that ends now moved the picture, so that it was no click. */
  get wasDragged() {
    return this.moved > 4;
  }

  key(event) {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (event.target !== this.frame || event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[event.key]) this.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "0") this.fit();
    else return;
    event.preventDefault();
  }

  /** Buttons for those who have no wheel. */
  buttons(what) {
    const button = (text, label, action) =>
      h("button", { type: "button", class: "icon", "aria-label": `${label} ${what}`, title: label, onclick: action }, text);
    return h("div", { class: "zoom" },
      button("+", "Zoom in", () => this.zoom(1.3)),
      button("−", "Zoom out", () => this.zoom(1 / 1.3)),
      button("⤢", "Fit", () => this.fit()));
  }
}
