/** The editor of a comment: its kind, the text, and lines to use instead. */

import { sendOnCtrlEnter } from "../ask.js";
import { h, replace } from "../dom.js";
import { choice, KINDS, linesName } from "./parts.js";

const PLACEHOLDERS = { change: "What should be different?", question: "What do you want to know?", remark: "What should the agent know?" };

/** `done()` closes it and keeps the draft, `cancel()` takes it back; `lines()` are the texts that a suggestion begins with. */
export class Editor {
  constructor(draft, { change, done, cancel, lines }) {
    Object.assign(this, { draft, change, done, cancel, lines });
    this.before = { kind: draft.kind, text: draft.text, suggestion: draft.suggestion };
    this.kinds = choice("Kind of the comment", Object.entries(KINDS), draft.kind, (kind) => this.#setKind(kind));
    this.field = this.#area("Comment", draft.text, (text) => change({ text }));
    this.suggestion = h("div", { class: "suggestion-edit" });
    this.suggest = h("button", { class: "btn quiet", type: "button", on: { click: () => this.#toggle() } });
    this.node = h("form", { class: "card-comment is-editor is-pinned", "aria-label": `Comment, ${linesName(draft.place)}` },
      h("div", { class: "row wrap" }, h("b", {}, linesName(draft.place)), this.kinds.node),
      this.field,
      this.suggestion,
      h("div", { class: "row wrap editor-end" },
        this.#canSuggest() && this.suggest,
        h("span", { class: "grow" }),
        h("button", { class: "btn quiet", type: "button", on: { click: () => this.cancel() } }, "Cancel", h("kbd", {}, "Esc")),
        h("button", { class: "btn primary" }, "Add to review", h("kbd", {}, "Ctrl ↵"))));
    this.node.addEventListener("submit", (event) => this.#submit(event));
    this.node.addEventListener("keydown", (event) => this.#escape(event));
    this.#setKind(draft.kind, false);
    this.#drawSuggestion();
  }

  /** Cards of earlier comments may be between the line, which is visible, and the editor. */
  focus() {
    this.field.focus({ preventScroll: true });
    this.node.scrollIntoView({ block: "nearest" });
    this.field.setSelectionRange(this.field.value.length, this.field.value.length);
  }

  #area(label, value, changed) {
    const field = h("textarea", { rows: Math.max(3, value.split("\n").length), "aria-label": label });
    field.value = value;
    field.addEventListener("input", () => changed(field.value));
    field.addEventListener("keydown", sendOnCtrlEnter);
    return field;
  }

  #setKind(kind, changed = true) {
    this.field.placeholder = PLACEHOLDERS[kind];
    if (changed) this.change({ kind });
  }

  #canSuggest() {
    const { side, line, path } = this.draft.place;
    return Boolean(path) && line > 0 && side !== "old";
  }

  #toggle() {
    const next = typeof this.draft.suggestion === "string" ? null : this.lines().join("\n");
    this.isUntouched = next !== null;
    this.change({ suggestion: next });
    this.#drawSuggestion();
    if (next !== null) this.suggestion.querySelector("textarea").focus();
  }

  #drawSuggestion() {
    const { suggestion } = this.draft;
    const isOpen = typeof suggestion === "string";
    this.suggest.textContent = isOpen ? "Remove the suggestion" : "Suggest code";
    if (!isOpen) return replace(this.suggestion);
    const field = this.#area("Lines to use instead", suggestion, (text) => this.#writeSuggestion(text));
    field.classList.add("mono");
    field.spellcheck = false;
    return replace(this.suggestion, h("p", { class: "muted small" }, "Instead of these lines; an empty field deletes them"), field);
  }

  #writeSuggestion(suggestion) {
    this.isUntouched = false;
    this.change({ suggestion });
  }

  /** The lines themselves are no suggestion; an empty line would read as one to delete it. */
  #submit(event) {
    event.preventDefault();
    if (this.isUntouched) this.change({ suggestion: null });
    if (this.draft.text.trim() || typeof this.draft.suggestion === "string") this.done();
    else this.cancel();
  }

  #escape(event) {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    event.preventDefault();
    this.cancel();
  }
}
