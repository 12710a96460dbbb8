/** The dialog that edits an open task. */

import { get, patch, taskPath } from "./api.js";
import { sendOnCtrlEnter } from "./ask.js";
import { h, replace } from "./dom.js";
import { field, options, readForm } from "./form.js";
import { session } from "./session.js";
import { notify, refused } from "./toast.js";

/** Opens it; resolves to the changed task, or null. */
export async function editTask({ id }) {
  try {
    const [known, request] = await Promise.all([session(), get(taskPath(id, "request"))]);
    return await open(id, known, request);
  } catch (error) {
    refused(error);
    return null;
  }
}

function open(id, known, request) {
  const errorText = h("p", { class: "form-error", role: "alert" });
  const form = h("form", { class: "stack", novalidate: true },
    h("div", { class: "row" }, h("h2", { class: "grow" }, "Edit the task"), h("span", { class: "muted mono cut" }, id)),
    parts(known, request), errorText,
    h("div", { class: "row form-end" },
      h("button", { class: "btn quiet", type: "button", on: { click: () => dialog.close() } }, "Cancel"),
      h("button", { class: "btn primary" }, "Save", h("kbd", {}, "Ctrl ↵"))));
  for (const each of form.querySelectorAll("input, select, textarea")) each.addEventListener("keydown", sendOnCtrlEnter);
  const dialog = document.body.appendChild(h("dialog", { "aria-label": `Edit ${request.title}` }, form));
  const before = readForm(form);
  dialog.showModal();
  return new Promise((resolve) => {
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        const task = await save(id, before, readForm(form));
        resolve(task);
        dialog.close();
      } catch (error) {
        replace(errorText, error.message, error.hint && h("span", { class: "mono muted" }, ` ${error.hint}`));
      }
    });
    dialog.addEventListener("close", () => {
      resolve(null);
      dialog.remove();
    });
  });
}

function parts(known, { title, body, priority, executor, model, after, budget_usd: budget }) {
  const words = h("textarea", { name: "body", rows: 8 });
  words.value = body;
  return [
    field("Title", h("input", { name: "title", value: title, autocomplete: "off", autofocus: true })),
    field("Description", words),
    h("div", { class: "form-grid" },
      field("Priority", options("priority", known.priorities, priority)),
      field("Budget, $", h("input", { name: "budget_usd", inputmode: "decimal", autocomplete: "off", value: budget ?? "", placeholder: "from settings" })),
      field("Agent", options("executor", known.executors, executor, "from settings")),
      field("Model", h("input", { name: "model", autocomplete: "off", value: model, placeholder: "from settings" })),
      field("After", h("input", { name: "after", autocomplete: "off", value: after.join(" "), placeholder: "task ids" }))),
  ];
}

/** Sends only what changed, so that another person's edit of another field stays. */
async function save(id, before, now) {
  const changed = Object.fromEntries(Object.entries(now).filter(([name, value]) => value !== before[name]));
  if ("after" in changed) changed.after = changed.after.split(/[\s,]+/).filter(Boolean);
  if ("budget_usd" in changed) changed.budget_usd = dollars(changed.budget_usd);
  if (!Object.keys(changed).length) return null;
  const task = await patch(taskPath(id), changed);
  notify(`Saved: ${task.title}`);
  return task;
}

/** An empty field is the budget of the settings, which is 0 in the API. */
function dollars(text) {
  const usd = Number(text.replace(/^\$/, "").replace(",", "."));
  if (!Number.isFinite(usd) || usd < 0) throw new Error(`invalid amount ${text}: expected US dollars such as 2.50`);
  return usd;
}
