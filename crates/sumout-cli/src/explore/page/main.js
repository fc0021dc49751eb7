// Starts the page: restores what the address tells, and keeps the address up to date.

import * as api from "./api.js";
import { initBeliefs } from "./beliefs.js";
import { initCompare } from "./compare.js";
import { $, eachFrame, plural, toast } from "./dom.js";
import { initFiles } from "./files.js";
import { initGraph } from "./graph.js";
import { initLive } from "./live.js";
import { initPad } from "./pad.js";
import { initShare } from "./share.js";
import { clearAll, fromFragment, on, select, setModel, show, state, toFragment } from "./state.js";
import { close as closeTable, initTable, open as openTable } from "./table.js";
import { initWhy } from "./why.js";

const VIEWS = ["network", "beliefs", "why", "pad"];

function initViews() {
  for (const view of VIEWS) $(`#tab-${view}`).addEventListener("click", () => show(view));
  $("#tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const tabs = VIEWS.map((view) => $(`#tab-${view}`)).filter((tab) => !tab.hidden && tab.offsetParent);
    if (!step) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  });
  on("view model", shown);
}

function shown() {
  const isThere = VIEWS.includes(state.view) && !$(`#tab-${state.view}`).hidden;
  if (!isThere) state.view = "network";
  for (const view of VIEWS) {
    $(`#tab-${view}`).setAttribute("aria-selected", view === state.view);
    $(`#tab-${view}`).tabIndex = view === state.view ? 0 : -1;
  }
  document.body.dataset.view = state.view;
}

function initTheme() {
  const themes = ["auto", "light", "dark"];
  const button = $("#theme");
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.setAttribute("aria-label", `Colours: ${theme}`);
    button.title = `Colours: ${theme}`;
  };
  apply(themes.find((theme) => theme === localStorage.getItem("sumout-theme")) ?? "auto");
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
    localStorage.setItem("sumout-theme", next);
    apply(next);
  });
}

function initKeys() {
  addEventListener("keydown", (event) => {
    const isTyping = event.target.matches?.("input, select, textarea") || document.querySelector("dialog[open]");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") $("#search").focus();
    else if (event.key === "?") $("#help").showModal();
    else if (event.key === "c") clearAll();
    else if (event.key === "Escape") { closeTable(); select(null); }
    else if (event.key === "t" && state.selected) openTable(state.selected);
    else if (event.key >= "1" && event.key <= "4" && !event.target.matches?.("#pad")) $(`#tab-${VIEWS[event.key - 1]}`).click();
    else return;
    event.preventDefault();
  });
  $("#help-button").addEventListener("click", () => $("#help").showModal());
  $(".skip").addEventListener("click", skip);
}

/** Goes to the variables; the address stays, as it has the evidence. */
function skip(event) {
  event.preventDefault();
  if (!$("#list").offsetParent) show("beliefs");
  $("#list").focus();
}

function header() {
  const { model } = state;
  const functions = model.variables.filter((v) => v.functional).length;
  const kind = model.markov ? "Markov network" : "Bayesian network";
  const name = model.name.split(/[\\/]/).at(-1);
  $("#model-name").textContent = name;
  $("#model-name").title = model.name;
  $("#model-note").textContent = `${kind}, ${plural(model.variables.length, "variable")}${functions ? `, ${plural(functions, "function")}` : ""}`;
  document.title = `${name} · sumout`;
}

/** Opens what an address tells, or else the model that the explorer was started with. */
async function open(text) {
  const told = fromFragment(text);
  try {
    const about = await api.about();
    const wanted = told.model ?? about.models[0].id;
    const model = await api.model(wanted).catch((problem) => (problem.status === 404 ? api.open(wanted) : Promise.reject(problem)));
    const lost = setModel(model, told);
    if (lost > 0) toast(`${plural(lost, "finding")} of the link ${lost === 1 ? "has" : "have"} no place in this model.`);
  } catch (problem) {
    toast(told.model ? `This link is for “${told.model}”. Open that file first.` : problem.message);
    if (!state.model && told.model) await open("");
  }
}

function initAddress() {
  let own = "";
  const write = eachFrame(() => {
    if (!state.model) return;
    own = `#${toFragment()}`;
    history.replaceState(null, "", own);
  });
  on("model tables evidence selected view planned", write);
  addEventListener("hashchange", () => { if (location.hash !== own) open(location.hash.slice(1)); });
}

initTheme();
initGraph();
initBeliefs();
initCompare();
initPad();
initWhy();
initViews();
initFiles();
initShare();
initTable();
initLive();
initKeys();
on("model tables", header);
const told = location.hash.slice(1);
initAddress();
open(told);
