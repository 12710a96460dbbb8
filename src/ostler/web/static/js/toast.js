/** Short messages at the edge of the page, read out by screen readers. */

import { h } from "./dom.js";

const SHOWN_MS = 6000;
let shelf = null;

/** Says that something was done. */
export function said(message) {
  show("done", message);
}

/** Says what the server refused and what to do next. */
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
