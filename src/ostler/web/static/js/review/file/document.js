/** A Markdown file as a document; every block can be commented, with the lines of its source. */

import { h, replace } from "../../dom.js";
import { markdown } from "../../markdown.js";

/** `file` is a FileView, `loading` resolves to the lines of the new text. */
export class DocumentBody {
  constructor(file, loading) {
    this.file = file;
    this.units = [];
    this.node = h("div", { class: "document", data: { file: "document" } }, h("p", { class: "file-note muted" }, "Loading…"));
    loading.then((lines) => this.#show(lines), file.changes.failed);
  }

  get count() {
    return this.units.length;
  }

  nodeAt(index) {
    return this.units[index] ?? null;
  }

  placeAt(index) {
    const { line, end } = this.units[index].dataset;
    return { side: this.file.side, line: Number(line), end: Number(end) };
  }

  /** The block that has a line, or the last one before it. */
  indexOf(side, number) {
    return side === "old" ? -1 : this.units.findLastIndex((unit) => Number(unit.dataset.line) <= number);
  }

  drawExtras() {
    for (const card of this.node.querySelectorAll(".doc-cards")) card.remove();
    this.units.forEach((unit, index) => {
      const next = Number(this.units[index + 1]?.dataset.line ?? Infinity);
      const cards = this.file.changes.review ? this.#cards(Number(unit.dataset.line), next) : [];
      if (cards.length) unit.after(h(unit.tagName === "LI" ? "li" : "div", { class: "doc-cards" }, cards));
    });
  }

  #cards(from, next) {
    const places = this.file.changes.review.placesIn(this.file.data.path);
    const ends = [...new Set(places.filter(({ side }) => side !== "old").map(({ to }) => to))];
    return ends.filter((to) => to >= from && to < next).flatMap((to) => this.file.cardsAt("new", to));
  }

  #show(lines) {
    if (!lines) return replace(this.node, h("p", { class: "file-note muted" }, "The whole text is not available; use Source."));
    const root = markdown(lines.join("\n"), { lines: true });
    this.units = [...root.querySelectorAll("[data-line]")].filter((node) => isUnit(node, root)).map(framed);
    for (const unit of this.units) this.#prepare(unit);
    replace(this.node, root);
    this.drawExtras();
    this.file.rowsBuilt(this.node);
    return undefined;
  }

  #prepare(unit) {
    unit.classList.add("doc-unit");
    unit.tabIndex = -1;
    const [line, end] = [Number(unit.dataset.line), Number(unit.dataset.end)];
    const isChanged = this.file.data.status !== "added" && this.file.lines.items.some((item) => item.kind === "added" && item.now >= line && item.now <= end);
    unit.dataset.changed = String(isChanged);
    if (!this.file.changes.review) return;
    const label = end > line ? `Comment on lines ${line} to ${end}` : `Comment on line ${line}`;
    unit.prepend(h("button", { class: "doc-add", type: "button", "aria-label": label, title: label, data: { line, end } }, "+"));
  }
}

/** A block that scrolls would cut off the button and the mark beside it: both get a frame around it. */
function framed(unit) {
  if (!unit.matches(".md-table, .md-code")) return unit;
  const { line, end } = unit.dataset;
  const frame = h("div", { data: { line, end } });
  unit.replaceWith(frame);
  frame.append(unit);
  return frame;
}

/** Top-level blocks, and the items of top-level lists. */
function isUnit(node, root) {
  if (node.parentElement === root) return !["UL", "OL"].includes(node.tagName);
  return node.tagName === "LI" && node.parentElement.parentElement === root;
}
