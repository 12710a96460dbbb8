/** Starts a run of a pipeline file. */

import { post } from "../api.js";
import { h } from "../dom.js";
import { go } from "../router.js";
import { session } from "../session.js";
import { refused, notify } from "../toast.js";

/** A choice of the project's pipelines and a button; null where it has none. */
export async function startForm() {
  const { pipelines } = await session();
  if (!pipelines.length) return null;
  const names = h("select", { id: "pipeline-name", "aria-label": "Pipeline" }, pipelines.map((name) => h("option", { value: name }, name)));
  const button = h("button", { class: "btn primary" }, "Run");
  const form = h("form", { class: "row start-form" }, names, button);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    start(names.value, button);
  });
  return form;
}

async function start(name, button) {
  button.disabled = true;
  try {
    const { run } = await post("/pipelines", { name });
    notify(`${run} runs`);
    go(`/pipelines/${encodeURIComponent(run)}`);
  } catch (error) {
    refused(error);
  } finally {
    button.disabled = false;
  }
}
