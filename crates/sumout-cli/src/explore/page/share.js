// Takes the state elsewhere: a link, a command line, Python, CSV, SVG.

import { $, h, s, toast } from "./dom.js";
import { drawAllEdges } from "./graph.js";
import { groupsOf } from "./groups.js";
import { state, toFragment } from "./state.js";

export function initShare() {
  const dialog = $("#share");
  $("#share-button").addEventListener("click", () => { fill(); dialog.showModal(); });
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => copy($(button.dataset.copy).textContent));
  }
  $("#save-csv").addEventListener("click", () => save(`${state.model.title}.csv`, "text/csv", csv()));
  $("#save-network").addEventListener("click", () => { drawAllEdges(); save(`${state.model.title}.svg`, "image/svg+xml", svgText($("#graph"))); });
  for (const side of ["classical", "chosen"]) {
    $(`#save-${side}`).addEventListener("click", () => save(`jointree-${side}.svg`, "image/svg+xml", svgText($(`#tree-${side}`))));
  }
  $("#save-profile").addEventListener("click", () => save("profile.svg", "image/svg+xml", svgText($("#profile"))));
}

function fill() {
  $("#share-link").textContent = `${location.origin}${location.pathname}#${toFragment()}`;
  $("#share-command").textContent = commandLine();
  $("#share-python").textContent = python();
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied.");
  } catch {
    toast("The browser does not allow copying: select the text instead.");
  }
}

/** A word as a shell takes it. */
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** Evidence by patterns where a pattern means the same. */
function findings() {
  const rest = new Map(state.given);
  const found = [];
  for (const { pattern, members } of groupsOf(state.model)) {
    const names = members.map((i) => state.model.variables[i].name);
    const value = rest.get(names[0]);
    if (value === undefined || !names.every((name) => rest.get(name) === value) || !isExact(pattern, names)) continue;
    names.forEach((name) => rest.delete(name));
    found.push([pattern, value]);
  }
  return [...found, ...rest];
}

function isExact(pattern, names) {
  const matcher = new RegExp(`^${pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*")}$`);
  return !/[?[\]{}]/.test(pattern) && state.model.variables.filter((v) => matcher.test(v.name)).length === names.length;
}

/** The command that gives the same posteriors. */
export function commandLine() {
  const given = findings().map(([name, value]) => `${name}=${value}`);
  const soft = [...state.soft].map(([name, numbers]) => `${name}=${numbers.join(",")}`);
  return ["sumout query", state.model.command, ...option("--given", given), ...option("--soft", soft)].join(" ");
}

/** An option with its words; those that look like options themselves are joined to it. */
function option(name, words) {
  const dashed = words.filter((word) => word.startsWith("-")).map((word) => `${name}=${quoted(word)}`);
  const others = words.filter((word) => !word.startsWith("-")).map(quoted);
  return [...dashed, ...(others.length ? [name, ...others] : [])];
}

function python() {
  const json = (x) => JSON.stringify(x);
  const found = [...state.given, ...state.soft];
  const given = found.length ? `given={${found.map(([name, finding]) => `${json(name)}: ${json(finding)}`).join(", ")}}` : "";
  return `import sumout\nprint(${state.model.python}.query(${given}))`;
}

function csv() {
  const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const rows = [["variable", "value", "probability", "evidence"]];
  for (const [name, values] of Object.entries(state.answer?.posteriors ?? {})) {
    Object.entries(values).forEach(([value, p], k) => {
      const finding = state.given.has(name) ? String(Number(state.given.get(name) === value)) : state.soft.get(name)?.[k] ?? "";
      rows.push([cell(name), cell(value), String(p), String(finding)]);
    });
  }
  return `${rows.map((row) => row.join(",")).join("\n")}\n`;
}

const STYLES = ["display", "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "font-family", "font-size", "font-weight", "font-style", "text-anchor", "text-decoration", "opacity"];

/** A picture as a file of its own: all of it, with the styles that it has on the page. */
function svgText(element) {
  const svg = element.querySelector("svg") ?? element;
  const copied = svg.cloneNode(true);
  const [from, to] = [svg, copied].map((root) => [...root.querySelectorAll("path, rect, circle, text, g")]);
  from.forEach((part, k) => {
    const style = getComputedStyle(part);
    const names = part.tagName === "g" ? ["opacity"] : STYLES;
    names.forEach((name) => to[k].setAttribute(name, style.getPropertyValue(name)));
  });
  const box = svg.viewBox.baseVal;
  const margin = 12;
  const frame = { x: box.x - margin, y: box.y - margin, width: box.width + 2 * margin, height: box.height + 2 * margin };
  copied.setAttribute("viewBox", Object.values(frame).map((x) => x.toFixed(1)).join(" "));
  copied.setAttribute("width", frame.width.toFixed(0));
  copied.setAttribute("height", frame.height.toFixed(0));
  copied.prepend(s("rect", { ...frame, fill: getComputedStyle(document.body).backgroundColor }));
  for (const name of ["style", "id", "role"]) copied.removeAttribute(name);
  return new XMLSerializer().serializeToString(copied);
}

function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name.replace(/[^\w.-]+/g, "-") });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
