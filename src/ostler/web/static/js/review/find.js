/** Search in all changes, also in rows that do not exist yet. */

import { h } from "../dom.js";

const LEAST_LETTERS = 2;
const MOST_HITS = 5000;
const WAIT_MS = 150;

/** A field above the files; `changes` is a ChangesView. */
export class Find {
  constructor(changes) {
    Object.assign(this, { changes, hits: [], at: -1, words: "" });
    this.field = h("input", { type: "search", class: "find-field", placeholder: "Find in the changes", "aria-label": "Find in the changes" });
    this.count = h("span", { class: "find-count muted num", role: "status" });
    const button = (label, text, run) => h("button", { class: "btn quiet square", type: "button", "aria-label": label, on: { click: run } }, text);
    this.node = h("div", { class: "find-bar", role: "search", hidden: true }, this.field, this.count,
      button("Previous hit", "↑", () => this.step(-1)), button("Next hit", "↓", () => this.step(1)), button("Close the search", "×", () => this.close()));
    this.field.addEventListener("input", () => this.#plan());
    this.field.addEventListener("keydown", (event) => this.#key(event));
  }

  get isOpen() {
    return !this.node.hidden;
  }

  open() {
    this.node.hidden = false;
    this.field.focus();
    this.field.select();
  }

  close() {
    this.node.hidden = true;
    this.field.value = "";
    this.words = "";
    this.hits = [];
    paint(this.changes.list, "");
    this.changes.cursor.node?.focus({ preventScroll: true });
  }

  async step(step) {
    if (this.field.value.trim().toLowerCase() !== this.words) await this.#look();
    if (!this.hits.length) return;
    this.at = (this.at + step + this.hits.length) % this.hits.length;
    const { file, side, line } = this.hits[this.at];
    if (file.isRendered) file.render(false);
    await this.changes.goTo(file.data.path, side, line);
    this.field.focus({ preventScroll: true });
    this.#write();
    paint(this.changes.list, this.words);
  }

  /** Marks the letters in rows that were just built. */
  mark() {
    if (!this.words || this.planned) return;
    this.planned = requestAnimationFrame(() => {
      this.planned = 0;
      paint(this.changes.list, this.words);
    });
  }

  #plan() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.#look().then(() => this.hits.length && this.step(1)), WAIT_MS);
  }

  #key(event) {
    if (event.key === "Escape") this.close();
    if (event.key !== "Enter") return;
    event.preventDefault();
    clearTimeout(this.waiting);
    this.step(event.shiftKey ? -1 : 1);
  }

  async #look() {
    const words = this.field.value.trim().toLowerCase();
    Object.assign(this, { words: words.length < LEAST_LETTERS ? "" : words, hits: [], at: -1 });
    for (const file of this.words ? this.changes.files : []) {
      await file.ready();
      this.#collect(file);
      if (this.hits.length >= MOST_HITS) break;
    }
    this.#write();
    paint(this.changes.list, this.words);
  }

  #collect(file) {
    for (const item of file.lines.items) {
      if (item.type !== "line" || !item.text.toLowerCase().includes(this.words)) continue;
      const isOld = item.kind === "removed";
      this.hits.push({ file, side: isOld ? "old" : "new", line: isOld ? item.old : item.now });
    }
  }

  #write() {
    const total = `${this.hits.length.toLocaleString("en")}${this.hits.length >= MOST_HITS ? "+" : ""}`;
    this.count.textContent = !this.words ? "" : this.at < 0 ? `${total} lines` : `${this.at + 1} of ${total}`;
  }
}

/** Marks the letters without changing the page, if the browser supports it. */
function paint(root, words) {
  if (!globalThis.CSS?.highlights) return;
  CSS.highlights.delete("found");
  if (!words) return;
  const ranges = [...root.querySelectorAll(".code-text")].flatMap((cell) => rangesIn(cell, words)).slice(0, 2000);
  if (ranges.length) CSS.highlights.set("found", new Highlight(...ranges));
}

/** Ranges in a cell, also over the borders of its coloured parts. */
function rangesIn(cell, words) {
  const text = cell.textContent.toLowerCase();
  const found = [];
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + words.length)) {
    const range = new Range();
    range.setStart(...pointAt(cell, at));
    range.setEnd(...pointAt(cell, at + words.length));
    found.push(range);
  }
  return found;
}

function pointAt(cell, offset) {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  let left = offset;
  while (walker.nextNode()) {
    if (left <= walker.currentNode.length) return [walker.currentNode, left];
    left -= walker.currentNode.length;
  }
  return [cell, cell.childNodes.length];
}
