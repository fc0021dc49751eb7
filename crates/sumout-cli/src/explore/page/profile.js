// The size profile: all clusters of a plan from the largest to the smallest, on logarithmic scales.

import { count, plural, power, s } from "./dom.js";

const BOX = { width: 640, height: 260, left: 52, right: 16, top: 14, bottom: 38 };

export function drawProfile(svg, series) {
  const drawn = series.filter((one) => one.sizes.length > 0)
    .map((one) => ({ ...one, logs: one.sizes.map((n) => (n === null ? 1024 : Math.log2(n))).sort((a, b) => b - a) }));
  svg.setAttribute("viewBox", `0 0 ${BOX.width} ${BOX.height}`);
  svg.replaceChildren(s("title", {}, drawn.map(told).join("; ")));
  if (drawn.length === 0) return;
  const most = Math.max(...drawn.map((one) => one.logs.length), 2);
  const top = Math.max(4, ...drawn.map((one) => one.logs[0]));
  const x = (rank) => BOX.left + ((BOX.width - BOX.left - BOX.right) * Math.log(rank)) / Math.log(most);
  const y = (log) => BOX.height - BOX.bottom - ((BOX.height - BOX.top - BOX.bottom) * log) / top;
  svg.append(...axes(x, y, most, top), ...drawn.flatMap((one, k) => line(one, x, y, k)));
}

const told = ({ name, sizes, logs }) => `${name}: ${plural(sizes.length, "cluster")}, the largest has ${power(logs[0])} states`;

function axes(x, y, most, top) {
  const parts = [];
  const step = [1, 2, 5, 10, 20, 50, 100, 200].find((k) => top / k <= 7) ?? 500;
  for (let log = 0; log <= top; log += step) {
    parts.push(s("path", { class: "rule", d: `M${BOX.left} ${y(log)}H${BOX.width - BOX.right}` }),
      s("text", { class: "tick", x: BOX.left - 7, y: y(log) + 4, "text-anchor": "end" }, power(log)));
  }
  for (let rank = 1; rank <= most; rank *= 10) {
    parts.push(s("path", { class: "rule", d: `M${x(rank)} ${BOX.top}V${BOX.height - BOX.bottom}` }),
      s("text", { class: "tick", x: x(rank), y: BOX.height - BOX.bottom + 16, "text-anchor": "middle" }, count(rank)));
  }
  parts.push(s("text", { class: "tick", x: (BOX.left + BOX.width - BOX.right) / 2, y: BOX.height - 4, "text-anchor": "middle" }, "clusters, from the largest"));
  return parts;
}

function line({ name, kind, logs }, x, y, k) {
  const points = logs.map((log, k) => `${x(k + 1).toFixed(1)} ${y(log).toFixed(1)}`);
  const last = logs.length;
  const path = `M${points.join("L")}`;
  const area = `${path}L${x(last).toFixed(1)} ${y(0)}L${x(1)} ${y(0)}Z`;
  const dots = logs.length > 60 ? [] : logs.map((log, at) => s("circle", { class: `dot ${kind}`, cx: x(at + 1).toFixed(1), cy: y(log).toFixed(1), r: 2.5 },
    s("title", {}, `${name}, cluster ${at + 1}: ${count(2 ** log)} states`)));
  const label = s("text", { class: `label ${kind}`, x: BOX.width - BOX.right, y: BOX.top + 14 + 18 * k, "text-anchor": "end" }, `${name}: ${plural(logs.length, "cluster")}, up to ${power(logs[0])}`);
  return [s("path", { class: `area ${kind}`, d: area }), s("path", { class: `line ${kind}`, d: path }), ...dots, label];
}
