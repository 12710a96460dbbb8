/** Two small dialogs: one asks for a text, the other for confirmation. */

import { h } from "./dom.js";

/** The entered text, or null if cancelled. `about`, such as the title of a task, and `text` are shown above the field; `line` asks for one line, which Enter sends. */
export function askText({ title, label, about = "", text = "", required = false, action = "Send", value = "", line = false }) {
  const props = { id: "ask-text", name: "text", required, autofocus: true };
  const field = line ? h("input", { ...props, type: "text", autocomplete: "off" }) : h("textarea", { ...props, rows: 4 });
  field.value = value;
  field.addEventListener("keydown", sendOnCtrlEnter);
  const body = [h("label", { for: "ask-text" }, label), field];
  return open({ title, about, text, body, action, key: line ? "↵" : "Ctrl ↵" }, () => field.value.trim());
}

/** Whether the user confirmed. */
export async function askYes({ title, text = "", action = "Yes", danger = false }) {
  return (await open({ title, text, body: [], action, danger }, () => true)) ?? false;
}

/** Sends the form, or the form that a field is in; for keydown. */
export function sendOnCtrlEnter(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  (event.currentTarget.form ?? event.currentTarget).requestSubmit();
}

function open({ title, about = "", text, body, action, danger = false, key = "" }, answer) {
  const cancel = h("button", { class: "btn quiet", type: "button", on: { click: () => dialog.close() } }, "Cancel");
  const hint = key && h("kbd", {}, key);
  const send = h("button", { class: danger ? "btn danger" : "btn primary", autofocus: !body.length }, action, hint);
  const form = h("form", { method: "dialog", class: "stack" },
    h("div", {}, h("h2", {}, title), about && h("p", { class: "muted" }, about)),
    text && h("p", { class: "ask-quote" }, text),
    body,
    h("div", { class: "row form-end" }, cancel, send));
  const dialog = document.body.appendChild(h("dialog", { "aria-label": title }, form));
  dialog.showModal();
  return new Promise((resolve) => {
    form.addEventListener("submit", () => resolve(answer()));
    dialog.addEventListener("close", () => {
      resolve(null);
      dialog.remove();
    });
  });
}
