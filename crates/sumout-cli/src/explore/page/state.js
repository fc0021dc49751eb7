// The state of the page: a model, evidence, a view. The address encodes all of it.

const listeners = new Map();

/** The state. Change it through the functions below, which tell the views. */
export const state = {
  model: null, // as the server tells it
  index: new Map(), // from names to variables
  given: new Map(), // from names to values
  soft: new Map(), // from names to likelihoods
  answer: null, // the last posteriors
  base: null, // the posteriors that they are compared with
  mpe: null,
  view: "network",
  selected: null, // the name of a variable
  question: null, // what is planned: {target, given, level}
};

export function on(topics, listener) {
  for (const topic of topics.split(" ")) {
    if (!listeners.has(topic)) listeners.set(topic, []);
    listeners.get(topic).push(listener);
  }
}

export function emit(topic, ...args) {
  for (const listener of listeners.get(topic) ?? []) listener(...args);
}

/** Takes a model, with the evidence and the view that an address told; returns how many findings it has no place for. */
export function setModel(model, told = { given: [], soft: [], view: state.view, at: null, plan: null }) {
  state.index = new Map(model.variables.map((variable, i) => [variable.name, { ...variable, i }]));
  const hasValue = ([name, value]) => state.index.get(name)?.values.includes(value);
  const hasPlaces = ([name, numbers]) =>
    state.index.get(name)?.values.length === numbers.length && numbers.every((x) => Number.isFinite(x) && x >= 0);
  const [given, soft] = [new Map(told.given.filter(hasValue)), new Map(told.soft.filter(hasPlaces))];
  const selected = state.index.has(told.at) ? told.at : null;
  Object.assign(state, { model, given, soft, selected, view: told.view, question: told.plan, answer: null, base: null, impossible: false, mpe: null });
  emit("model");
  emit("view");
  if (selected) emit("selected");
  return told.given.length + told.soft.length - given.size - soft.size;
}

/** Takes the same network with other numbers: the evidence stays. */
export function setTables(model) {
  const isOther = model.variables.some((variable, i) => variable.functional !== state.model.variables[i].functional);
  state.index = new Map(model.variables.map((variable, i) => [variable.name, { ...variable, i }]));
  Object.assign(state, { model, mpe: null });
  if (isOther) emit("functions");
  emit("tables");
}

function changed() {
  state.mpe = null;
  emit("evidence");
}

/** Sets a value, or takes it back if it is set. */
export function toggleGiven(name, value) {
  const was = state.given.get(name) === value;
  state.soft.delete(name);
  if (was) state.given.delete(name);
  else state.given.set(name, value);
  changed();
}

/** Sets and takes back many values at once: null takes back. */
export function setMany(values) {
  for (const [name, value] of values) {
    state.soft.delete(name);
    if (value === null) state.given.delete(name);
    else state.given.set(name, value);
  }
  changed();
}

export function setSoft(name, likelihood) {
  state.given.delete(name);
  state.soft.set(name, likelihood);
  changed();
}

export function clear(name) {
  if (!state.given.delete(name) && !state.soft.delete(name)) return;
  changed();
}

export function clearAll() {
  if (state.given.size + state.soft.size === 0) return;
  state.given.clear();
  state.soft.clear();
  changed();
}

export function select(name) {
  state.selected = name;
  emit("selected");
}

export function show(view) {
  state.view = view;
  emit("view");
}

/** The evidence as the server takes it. */
export const question = () => ({ given: Object.fromEntries(state.given), soft: Object.fromEntries(state.soft) });

/** The state as the part of an address after `#`. */
export function toFragment() {
  const words = new URLSearchParams();
  words.set("model", state.model.id);
  for (const [name, value] of state.given) words.append(`g.${name}`, value);
  for (const [name, numbers] of state.soft) words.append(`s.${name}`, numbers.join(","));
  if (state.view !== "network") words.set("view", state.view);
  if (state.selected) words.set("at", state.selected);
  if (state.question) words.set("plan", JSON.stringify(state.question));
  return words.toString();
}

/** What an address tells. */
export function fromFragment(text) {
  const told = { model: null, given: [], soft: [], view: "network", at: null, plan: null };
  for (const [key, value] of new URLSearchParams(text)) {
    if (key.startsWith("g.")) told.given.push([key.slice(2), value]);
    else if (key.startsWith("s.")) told.soft.push([key.slice(2), value.split(",").map(Number)]);
    else if (key === "plan") told.plan = parsed(value);
    else if (key === "model" || key === "view" || key === "at") told[key] = value;
  }
  return told;
}

/** What is planned, from an address that anyone may have written. */
function parsed(text) {
  try {
    const { target, given, level } = JSON.parse(text);
    return { target: String(target ?? ""), given: Array.isArray(given) ? given.map(String) : [], level: String(level ?? "auto") };
  } catch {
    return null;
  }
}
