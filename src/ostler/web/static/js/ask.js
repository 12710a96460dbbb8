/** Two small dialogs: one asks for a text, the other for confirmation. */

import { h } from "./dom.js";

/** The entered text, or null if cancelled. `text` is shown above the field. */
export function askText({ title, label, text = "", required = false, action = "Send", value = "" }) {
  const field = h("textarea", { rows: 4, id: "ask-text", name: "text", required, autofocus: true });
  field.value = value;
  field.addEventListener("keydown", sendOnCtrlEnter);
  const body = [h("label", { for: "ask-text" }, label), field];
  return open({ title, text, body, action }, () => field.value.trim());
}

/** Whether the user confirmed. */
export async function askYes({ title, text = "", action = "Yes", danger = false }) {
  return (await open({ title, text, body: [], action, danger }, () => true)) ?? false;
}

/** Sends the form that a field is in; for keydown. */
export function sendOnCtrlEnter(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.currentTarget.form.requestSubmit();
}

function open({ title, text, body, action, danger = false }, answer) {
  const cancel = h("button", { class: "btn quiet", type: "button", on: { click: () => dialog.close() } }, "Cancel");
  const hint = body.length > 0 && h("kbd", {}, "Ctrl ↵");
  const send = h("button", { class: danger ? "btn danger" : "btn primary", autofocus: !body.length }, action, hint);
  const form = h("form", { method: "dialog", class: "stack" },
    h("h2", {}, title),
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
