/** A tool call on one line, which opens to its input and its result. */

import { h, replace } from "../dom.js";
import { toolInput, toolOutput } from "./tool_body.js";
import { relativePath, verbOf } from "./tool_words.js";

/** One tool call; `returned` adds its result. The body is created when it is opened. */
export class ToolRow {
  constructor(entry) {
    this.use = entry;
    this.answer = null;
    this.mark = h("span", { class: "tool-mark mono" });
    this.body = h("div", { class: "tool-body" });
    const line = h(
      "summary",
      {},
      h("span", { class: "tool-name", title: entry.tool }, verbOf(entry)),
      h("span", { class: "tool-detail cut mono" }, relativePath(oneLine(entry.detail))),
      this.mark,
    );
    this.node = h("details", { class: "tool", data: { state: "open" } }, line, this.body);
    this.node.addEventListener("toggle", () => this.#fill());
  }

  returned(entry) {
    this.answer = entry;
    this.node.dataset.state = entry.failed ? "failed" : "done";
    this.mark.textContent = [entry.failed && "failed", took(entry.at - this.use.at)].filter(Boolean).join(" · ");
    if (this.node.open) this.#fill();
  }

  /** Opened by script, for a link or a search. */
  open() {
    this.node.open = true;
    this.#fill();
  }

  #fill() {
    if (!this.node.open) return this.body.replaceChildren();
    return replace(
      this.body,
      toolInput(this.use),
      this.answer ? toolOutput(this.answer) : h("p", { class: "faint" }, "No result yet."),
    );
  }
}

/** A result whose call is not loaded. */
export function loneAnswer(entry) {
  const row = new ToolRow({ ...entry, tool: "Answer", detail: oneLine(entry.text), input: {} });
  row.returned(entry);
  row.mark.textContent = entry.failed ? "failed" : "";
  return row;
}

function took(seconds) {
  if (!(seconds >= 0)) return "";
  if (seconds < 0.1) return "";
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")} min`;
}

const oneLine = (text) => (text ?? "").slice(0, 300).replace(/\s+/g, " ").trim();
