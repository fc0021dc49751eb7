// *What if*: posteriors as functions of one number of a table. The others of its row share the rest, so that P(x, e) and P(e)
// are linear in the number, and two networks give the whole curve.

import * as api from "./api.js";
import { $, h, label, percent, s } from "./dom.js";
import { question, state } from "./state.js";

const MOST_CURVES = 3;
const BOX = { width: 300, height: 84 };
const STEPS = 60;

/** A smaller effect is not drawn. */
const LEAST = 1e-4;

/** The rows of a table with one number changed: the others of its row share the rest as before, or equally. */
export function withNumber(rows, row, at, wanted) {
  const rest = rows[row].reduce((sum, p, k) => (k === at ? sum : sum + p), 0);
  const share = (p) => (rest > 0 ? (p * (1 - wanted)) / rest : (1 - wanted) / (rows[row].length - 1));
  return rows.map((old, k) => (k === row ? old.map((p, i) => (i === at ? wanted : share(p))) : old));
}

/** The posteriors that depend most on a number: {name, value, f}, with f the posterior as a function of the number. */
async function curves(origin, tables, { name, rows, row, at }) {
  const x0 = rows[row][at];
  const x1 = x0 < 0.5 ? 0.9 : 0.1;
  const other = await api.change(origin, { ...tables, [name]: withNumber(rows, row, at, x1).flat() });
  const asked = question(); // of both networks, whatever evidence comes meanwhile
  const [one, two] = await Promise.all([state.model.id, other.id].map((id) => api.query(id, asked)));
  if (one.impossible) return [];
  const most = Math.max(one.log_evidence, two.impossible ? -Infinity : two.log_evidence);
  const weights = [one, two].map((answer) => (answer.impossible ? 0 : Math.exp(answer.log_evidence - most)));
  const line = (y0, y1) => (x) => y0 + ((y1 - y0) * (x - x0)) / (x1 - x0);
  const evidence = line(...weights);
  const all = Object.entries(one.posteriors).filter(([key]) => !state.given.has(key)).map(([key, values]) => {
    const ofValue = Object.keys(values).map((value) => {
      const joint = line(values[value] * weights[0], (two.posteriors[key]?.[value] ?? 0) * weights[1]);
      return { name: key, value, f: (x) => (evidence(x) > 1e-300 ? Math.min(1, Math.max(0, joint(x) / evidence(x))) : null) };
    });
    return ofValue.reduce((best, curve) => (effect(curve) > effect(best) + 1e-9 ? curve : best));
  });
  return all.filter((curve) => effect(curve) > LEAST).sort((a, b) => effect(b) - effect(a)).slice(0, MOST_CURVES);
}

/** How far a posterior can be moved. */
function effect({ f }) {
  const ends = [0, 0.5, 1].map(f).filter((p) => p !== null);
  return Math.max(...ends) - Math.min(...ends);
}

/** Shows a slider for a number, with the curves behind; `commit` takes the number if that is wished. */
export async function showWhatIf(origin, tables, cell, commit) {
  const found = await curves(origin, tables, cell);
  const x0 = cell.rows[cell.row][cell.at];
  const path = ({ f }, k) => {
    const points = Array.from({ length: STEPS + 1 }, (_, i) => [i / STEPS, f(i / STEPS)]).filter(([, p]) => p !== null);
    return s("path", { class: `curve c${k}`, d: `M${points.map(([x, p]) => `${(BOX.width * x).toFixed(1)} ${(BOX.height * (1 - p)).toFixed(1)}`).join("L")}` });
  };
  const mark = s("path", { class: "now" });
  const rows = found.map(({ name, value }, k) => h("li", {}, h("span", { class: `curve-key c${k}` }), `${name} ${label(state.index.get(name), value)} `, h("output")));
  const slider = h("input", { type: "range", min: 0, max: 1, step: 0.001, value: x0, "aria-label": cell.called });
  const told = () => {
    const x = Number(slider.value);
    mark.setAttribute("d", `M${(BOX.width * x).toFixed(1)} 0V${BOX.height}`);
    slider.setAttribute("aria-valuetext", percent(x));
    found.forEach(({ f }, k) => { rows[k].lastChild.textContent = f(x) === null ? "–" : percent(f(x)); });
  };
  slider.addEventListener("input", told);
  told();
  const none = found.length ? [] : [h("li", {}, "No posterior depends on this number.")];
  $("#whatif").replaceChildren(h("p", { class: "quiet" }, cell.called),
    h("div", { class: "curves" },
      h("div", {}, s("svg", { viewBox: `0 -2 ${BOX.width} ${BOX.height + 4}`, width: BOX.width, height: BOX.height + 4, "aria-hidden": "true" }, ...found.map(path), mark), slider),
      h("div", {}, h("ul", {}, ...rows, ...none), h("button", { type: "button", onclick: () => commit(Number(slider.value)) }, "Use this number"))));
  $("#whatif").hidden = false;
}
