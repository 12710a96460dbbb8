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

/** Shows a decision that is sent after `seconds`, with a button that calls `undo`; returns the node, which the caller removes. */
export function showHeld(text, seconds, undo) {
  const button = h("button", { class: "btn small-btn", type: "button", on: { click: undo } }, "Undo", h("kbd", { "aria-hidden": "true" }, "u"));
  const bar = h("i", { class: "toast-time", style: { "animation-duration": `${seconds}s` } });
  const note = h("div", { class: "toast", data: { kind: "held" } }, h("div", { class: "row" }, h("p", { class: "grow" }, text), button), bar);
  open().append(note);
  return note;
}

function show(kind, message, hint = "") {
  const note = h("div", { class: "toast", data: { kind } }, h("p", {}, message), hint && h("p", { class: "muted mono" }, hint));
  note.addEventListener("click", () => note.remove());
  open().append(note);
  setTimeout(() => note.remove(), SHOWN_MS);
}

function open() {
  shelf ??= document.body.appendChild(h("div", { class: "toasts", role: "status", "aria-live": "polite" }));
  return shelf;
}
