/** A dialog for a phase and a text. */

import { sendOnCtrlEnter } from "../ask.js";
import { h } from "../dom.js";
import { field, options, readForm } from "../form.js";

/** {phase, [name]: text}, or null if cancelled. */
export function askPhase({ title, why, phases, chosen, label, name, required = false, action }) {
  const words = h("textarea", { name, rows: 3, required });
  const cancel = h("button", { class: "btn quiet", type: "button", on: { click: () => dialog.close() } }, "Cancel");
  const form = h(
    "form",
    { method: "dialog", class: "stack", on: { keydown: sendOnCtrlEnter } },
    h("h2", {}, title),
    h("p", { class: "muted" }, why),
    field("Phase", options("phase", phases, chosen)),
    field(label, words),
    h("div", { class: "row form-end" }, cancel, h("button", { class: "btn primary" }, action, h("kbd", {}, "Ctrl ↵"))),
  );
  const dialog = document.body.appendChild(h("dialog", { "aria-label": title }, form));
  dialog.showModal();
  return new Promise((resolve) => {
    form.addEventListener("submit", () => resolve(readForm(form)));
    dialog.addEventListener("close", () => {
      resolve(null);
      dialog.remove();
    });
  });
}
