/** The dialog for a new task. The typed text is kept until it is sent. */

import { post } from "./api.js";
import { sendOnCtrlEnter } from "./ask.js";
import { h, replace } from "./dom.js";
import { field, options, readForm } from "./form.js";
import { keptFor, onServer } from "./place.js";
import { go } from "./router.js";
import { session } from "./session.js";
import { notify } from "./toast.js";

const KEY = keptFor("ostler.new_task");
let shown = null;

/** Opens it, with the text typed before. */
export async function openNewTask() {
  if (shown) return;
  shown = draw(await session());
  document.body.append(shown);
  shown.showModal();
}

function draw(known) {
  const errorText = h("p", { class: "form-error", role: "alert" });
  const form = h("form", { class: "stack new-task", novalidate: true },
    h("div", { class: "row" }, h("h2", { class: "grow" }, "New task"), h("span", { class: "muted" }, known.project)),
    main(),
    more(known),
    errorText,
    ending());
  recall(form);
  form.addEventListener("input", () => keep(form));
  form.addEventListener("submit", (event) => send(event, form, errorText));
  for (const each of form.querySelectorAll("input, select, textarea")) each.addEventListener("keydown", sendOnCtrlEnter);
  const dialog = h("dialog", { "aria-label": "New task" }, form);
  dialog.addEventListener("close", () => {
    shown = null;
    dialog.remove();
  });
  return dialog;
}

function main() {
  const title = h("input", { name: "title", autofocus: true, autocomplete: "off", placeholder: "What to do, in one line" });
  const body = h("textarea", { name: "body", rows: 6, placeholder: "All that the agent needs, as Markdown (optional)" });
  return [field("Title", title), field("Description", body)];
}

function more(known) {
  return [
    h("div", { class: "form-grid" },
      field("Size", options("weight", known.weights, "small")),
      field("Priority", options("priority", known.priorities, "P2")),
      field("Budget, $", h("input", { name: "budget_usd", inputmode: "decimal", autocomplete: "off", placeholder: "from settings" })),
      field("Agent", options("executor", known.executors, "", "from settings")),
      field("Model", h("input", { name: "model", autocomplete: "off", placeholder: "from settings" })),
      field("After", h("input", { name: "after", autocomplete: "off", placeholder: "task ids" })),
      field("Role", options("role", known.roles, "implementer")),
      field("Skill", options("skill", known.skills, "", "none"))),
    h("label", { class: "row check" }, h("input", { type: "checkbox", name: "hold" }), "Create it paused"),
  ];
}

function ending() {
  const cancel = { class: "btn quiet", type: "button", on: { click: () => shown.close() } };
  return h("div", { class: "row form-end" },
    h("button", cancel, "Cancel"),
    h("button", { class: "btn primary" }, "Create", h("kbd", {}, "Ctrl ↵")));
}

async function send(event, form, errorText) {
  event.preventDefault();
  replace(errorText);
  const button = form.querySelector(".btn.primary");
  button.disabled = true;
  try {
    const task = await post("/tasks", asTask(readForm(form)));
    sessionStorage.removeItem(KEY);
    shown.close();
    notify(`Created: ${task.title}`);
    if (location.pathname !== onServer("/")) go(`/tasks/${encodeURIComponent(task.id)}`);
  } catch (error) {
    replace(errorText, error.message, error.hint && h("span", { class: "mono muted" }, ` ${error.hint}`));
  } finally {
    button.disabled = false;
  }
}

/** Only the fields that were filled in; the server uses the settings for the others. */
function asTask({ after, budget_usd: budget, ...rest }) {
  const ids = after ? after.split(/[\s,]+/).filter(Boolean) : [];
  const given = Object.entries(rest).filter(([, value]) => value !== "" && value !== false);
  return { ...Object.fromEntries(given), ...(ids.length && { after: ids }), ...(budget && { budget_usd: dollars(budget) }) };
}

function dollars(text) {
  const usd = Number(text.replace(/^\$/, "").replace(",", "."));
  if (!Number.isFinite(usd)) throw new Error(`invalid amount ${text}: expected US dollars such as 2.50`);
  return usd;
}

function keep(form) {
  sessionStorage.setItem(KEY, JSON.stringify(readForm(form)));
}

function recall(form) {
  const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  for (const [name, value] of Object.entries(kept)) {
    const control = form.elements.namedItem(name);
    if (!control) continue;
    if (control.type === "checkbox") control.checked = value;
    else control.value = value;
  }
}
