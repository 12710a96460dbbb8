/** Short messages at the edge of the page, read out by screen readers. */

import { h } from "./dom.js";

const SHOWN_MS = 6000;
let shelf = null;

/** Confirms an action. */
export function notify(message) {
  show("done", message);
}

/** Shows an error of the server and its hint. */
export function refused(error) {
  if (error.name === "AbortError") return;
  show("refused", error.message, error.hint);
}

function show(kind, message, hint = "") {
  shelf ??= document.body.appendChild(h("div", { class: "toasts", role: "status", "aria-live": "polite" }));
  const note = h("div", { class: "toast", data: { kind } }, h("p", {}, message), hint && h("p", { class: "muted mono" }, hint));
  note.addEventListener("click", () => note.remove());
  shelf.append(note);
  setTimeout(() => note.remove(), SHOWN_MS);
}
