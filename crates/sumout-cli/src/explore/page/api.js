// Requests to the server. Addresses are relative: the token is part of the page's own.

/** What the server says is wrong: `text` is what the command line would print. */
export class Problem extends Error {
  constructor(status, error) {
    super(error.message);
    Object.assign(this, { status, ...error });
  }
}

async function send(path, options = {}) {
  let response;
  try {
    response = await fetch(`api${path}`, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { message: "the server does not answer: is `sumout explore` still running?", text: "" });
  }
  const json = await response.json().catch(() => null);
  if (response.ok) return json;
  throw new Problem(response.status, json?.error ?? { message: `status ${response.status}`, text: "" });
}

const post = (path, body, signal) => send(path, { method: "POST", body, signal });
const at = (id, path) => `/models/${encodeURIComponent(id)}${path}`;

export const about = () => send("");
export const model = (id) => send(at(id, ""));
export const open = (name, bytes, normalize = false) => post(`/models?name=${encodeURIComponent(name)}${normalize ? "&normalize=true" : ""}`, bytes);
export const progress = (id) => send(at(id, "/progress"));
export const query = (id, question, signal) => post(at(id, "/query"), JSON.stringify(question), signal);
export const mpe = (id, question, signal) => post(at(id, "/mpe"), JSON.stringify(question), signal);
export const plan = (id, question, signal) => post(at(id, "/plan"), JSON.stringify(question), signal);
export const sample = (id, seed) => send(at(id, `/sample?seed=${seed}`));
export const conflict = (id, question) => post(at(id, "/conflict"), JSON.stringify(question));
export const table = (id, variable) => send(at(id, `/table?variable=${encodeURIComponent(variable)}`));
export const change = (id, tables) => post(at(id, "/tables"), JSON.stringify({ tables }));
export const fileAddress = (id) => `api${at(id, "/file")}`;
