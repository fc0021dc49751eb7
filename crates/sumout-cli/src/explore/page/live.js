// Keeps the answer up to date: one question at a time, the newest wins, and who waits is told.

import * as api from "./api.js";
import { $, waitFor } from "./dom.js";
import { inPageWords, remedies } from "./problems.js";
import { emit, on, question, select, state } from "./state.js";

/** A question that takes longer than this is given up when there is a newer one. */
const PATIENT = 700;

/** Show a progress message after this time. */
const SILENT = 250;

const live = { running: null, isStale: false };

export function initLive() {
  on("model evidence tables", ask);
  $("#cancel").addEventListener("click", cancel);
  $("#retry").addEventListener("click", ask);
  $("#dismiss").addEventListener("click", () => status(""));
}

function ask() {
  if (!state.model) return;
  if (live.running && live.running.model === state.model && performance.now() - live.running.begun < PATIENT) {
    live.isStale = true; // asked again when the answer comes
    return;
  }
  live.running?.abort.abort();
  run();
}

async function run() {
  const running = { model: state.model, isPrior: state.given.size + state.soft.size === 0, abort: new AbortController(), begun: performance.now() };
  Object.assign(live, { running, isStale: false });
  const waiting = setTimeout(() => tell(running), SILENT);
  try {
    const answer = await api.query(running.model.id, question(), running.abort.signal);
    if (live.running === running) arrived(answer, running.isPrior);
  } catch (problem) {
    if (live.running === running) failed(problem);
  } finally {
    clearTimeout(waiting);
  }
}

function arrived(answer, isPrior) {
  const again = live.isStale;
  live.running = null;
  state.answer = answer.impossible ? null : { ...answer, isPrior };
  state.impossible = answer.impossible;
  status("");
  outdated(false);
  emit("answer");
  if (again) run();
}

function failed(problem) {
  live.running = null;
  if (live.isStale) return run();
  const isCancelled = problem.name === "AbortError";
  status(isCancelled ? "Cancelled: the numbers are those of earlier evidence" : inPageWords(problem), { failed: true });
  $("#remedies").replaceChildren(...remedies(problem, { observe: ({ variable }) => select(variable) }));
  outdated(Boolean(state.answer));
  return emit("stale");
}

function cancel() {
  if (!live.running) return;
  live.isStale = false;
  live.running.abort.abort();
}

/** Tells what the server is doing, until the answer is there. */
async function tell(running) {
  const words = {
    waiting: "waiting for other computations", compiling: "compiling the circuit, once", ready: "computing", computing: "computing",
  };
  outdated(Boolean(state.answer));
  while (live.running === running) {
    const { phase, seconds } = await api.progress(running.model.id).catch(() => ({ phase: "computing", seconds: 0 }));
    if (live.running !== running) return;
    const own = (performance.now() - running.begun) / 1000;
    const waited = phase === "compiling" ? Math.max(seconds, own) : own;
    status(words[phase] ?? phase, { busy: true });
    waitFor($("#status-text"), words[phase] ?? phase, waited);
    await new Promise((done) => { setTimeout(done, 400); });
  }
}

/** Shows that the numbers are those of earlier evidence. */
const outdated = (isSo) => document.body.classList.toggle("outdated", isSo);

function status(text, { busy = false, failed: hasFailed = false } = {}) {
  $("#status").hidden = text === "";
  $("#status").classList.toggle("failed", hasFailed);
  if (!busy) $("#status-text").textContent = text;
  $("#remedies").replaceChildren();
  $("#dismiss").hidden = !hasFailed;
  $("#cancel").hidden = !busy;
  $("#retry").hidden = !hasFailed;
  document.body.classList.toggle("busy", busy);
}
