// Opens models: built in, or files that are chosen or dropped on the page.

import * as api from "./api.js";
import { $, plural, toast } from "./dom.js";
import { remedies } from "./problems.js";
import { setModel } from "./state.js";

export function initFiles() {
  const dialog = $("#open");
  $("#open-button").addEventListener("click", () => { complain(null); dialog.showModal(); });
  $("#file").addEventListener("change", (event) => { if (event.target.files[0]) openFile(event.target.files[0]); event.target.value = ""; });
  $("#built-in").addEventListener("submit", (event) => { event.preventDefault(); openNamed($("#built-in-name").value.trim()); });
  for (const button of document.querySelectorAll("[data-open]")) button.addEventListener("click", () => openNamed(button.dataset.open));
  for (const button of document.querySelectorAll("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());
  let depth = 0;
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => { if (hasFiles(event)) { depth += 1; $("#drop").hidden = false; } });
  addEventListener("dragleave", (event) => { if (hasFiles(event) && --depth <= 0) $("#drop").hidden = true; });
  addEventListener("dragover", (event) => { if (hasFiles(event)) event.preventDefault(); });
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    $("#drop").hidden = true;
    if (event.dataTransfer.files[0]) openFile(event.dataTransfer.files[0]);
  });
}

const openFile = (file, normalize = false) =>
  opened(file.name, async () => api.open(file.name, await contentOf(file), normalize), { normalize: () => openFile(file, true) });
const openNamed = (name) => opened(name, () => api.open(name));

/** The bytes of a file, if it is within the limit of the server; during the upload a refusal would not be seen. */
async function contentOf(file) {
  const { most_bytes: most } = await api.about();
  const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  if (file.size > most) throw new Error(`error: ${file.name} has ${mib(file.size)}; at most ${mib(most)} can be opened here\nhint: start with \`sumout explore ${file.name}\``);
  return file.arrayBuffer().catch(() => { throw new Error(`error: cannot read ${file.name}: is it a folder?`); });
}

async function opened(name, read, does = {}) {
  complain(null);
  toast(`Opening ${name} …`, { lasts: true });
  document.body.classList.add("busy");
  try {
    const model = await read();
    $("#open").close();
    setModel(model);
    toast(`${name}: ${plural(model.variables.length, "variable")}`);
  } catch (problem) {
    complain(problem, does);
    $("#toast").hidden = true;
    if (!$("#open").open) $("#open").showModal();
  } finally {
    document.body.classList.remove("busy");
  }
}

/** Shows the place in a file that is wrong, as the command line does, with buttons for what helps. */
function complain(problem, does) {
  $("#diagnostic").hidden = !problem;
  $("#diagnostic").textContent = problem ? problem.text || problem.message : "";
  $("#open-remedies").replaceChildren(...(problem ? remedies(problem, does) : []));
}
