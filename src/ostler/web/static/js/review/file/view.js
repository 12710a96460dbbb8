/** One file of a change: a header that stays visible, and its lines, pictures or rendered text. */

import { h, replace } from "../../dom.js";
import { DocumentBody } from "./document.js";
import { FileLines } from "../diff/file_lines.js";
import { readHunks } from "../diff/patch.js";
import { FileHeader } from "./header.js";
import { FileRows } from "./rows.js";
import { imageBody } from "./image.js";
import { notesOf } from "./notes.js";

const HEADER_HEIGHT = 41;
const LINE_HEIGHT = 20;
const WHOLE = ["added", "deleted"];

/** `changes` is the ChangesView that it is a part of; `data` is a file of ostler.changes/1. */
export class FileView {
  constructor(changes, data) {
    Object.assign(this, { changes, data, lazy: changes.lazy, lines: null, body: null, picked: null, newTexts: null, oldTexts: null });
    this.newColours = [];
    this.oldColours = [];
    this.isFolded = data.generated || changes.isViewed(data);
    this.isRendered = data.kind === "image" ? !this.#hasCommentedLines() : this.hasSource && data.status === "added";
    this.node = h("section", { class: "file-diff", "aria-label": data.path, data: { path: data.path } });
    this.lazy.watch(this.node, { build: () => this.#build(), drop: () => this.#drop(), height: () => this.#height(), keep: () => this.#isPinned() });
  }

  get shape() {
    if (WHOLE.includes(this.data.status)) return "one";
    return this.changes.layout === "split" ? "split" : "two";
  }

  /** Whether it can be shown both as a picture or a document, and as lines. */
  get hasSource() {
    const { kind, status, additions, deletions } = this.data;
    return kind === "markdown" ? status !== "deleted" : kind === "image" && additions + deletions > 0;
  }

  /** Characters that a line has room for. */
  get columns() {
    return this.changes.columns(this.shape);
  }

  /** The number of rows that the keyboard can be at, besides the header. */
  get count() {
    return this.isFolded ? 0 : (this.body?.count ?? 0);
  }

  /** The element of a row, or of the header for -1. */
  nodeAt(index) {
    this.lazy.build(this.node);
    return index < 0 ? this.header.node : (this.body?.nodeAt(index) ?? this.header.node);
  }

  /** The side and the lines of a row, or null. */
  placeAt(index) {
    return index < 0 ? { side: this.side, line: 0, end: 0 } : (this.body?.placeAt(index) ?? null);
  }

  /** Which text comments on the new side are about. */
  get side() {
    return this.changes.review?.isDocument ? "document" : "new";
  }

  /** Reads the patch, once; async only if the patch of all files was too long. */
  ready() {
    if (this.lines) return null;
    const part = this.changes.partOf(this.data.path);
    if (part instanceof Promise) return part.then((text) => this.#read(text));
    this.#read(part);
    return null;
  }

  fold(isFolded) {
    if (isFolded === this.isFolded) return;
    this.isFolded = isFolded;
    const above = this.node.getBoundingClientRect().top < this.changes.top();
    this.redraw();
    if (isFolded && above) this.node.scrollIntoView({ block: "start" });
  }

  render(isRendered) {
    this.isRendered = isRendered;
    this.redraw();
  }

  /** Draws the file again if it exists, after its layout changed. */
  redraw() {
    if (!this.lazy.isBuilt(this.node)) return this.lazy.resize(this.node);
    this.#drop();
    return this.#build();
  }

  reveal(item, how) {
    this.#whole().then((texts) => {
      if (!texts) return this.changes.notify(`The whole text of ${this.data.path} is not available.`);
      const focus = document.activeElement?.closest?.(".gap") !== null;
      const line = item.now;
      this.changes.keepPlace(this.node, () => {
        this.lines.reveal(item, how, texts);
        this.body.update();
      });
      const index = this.body.indexOf("new", line);
      if (focus && index >= 0) this.changes.cursor.put(this, index);
      return undefined;
    }, this.changes.failed);
  }

  /** The comments below a row, each in an element of its own. */
  extras(row) {
    if (!this.changes.review) return [];
    const sides = row.type === "line" ? sidesOf(row.line) : [...new Map([...sidesOf(row.left), ...sidesOf(row.right)])];
    return sides.flatMap(([side, number]) => this.cardsAt(side, number).map((card) => extraRow(side, card)));
  }

  /** The cards of a place; `side` "file" has those of the whole file. */
  cardsAt(side, number) {
    return this.changes.review?.cardsAt(this.data.path, side === "new" ? this.side : side, number) ?? [];
  }

  /** Draws changed comments, and the lines that they need. */
  drawComments() {
    this.header?.update();
    if (!this.lazy.isBuilt(this.node) || this.isFolded || !this.body) return;
    if (this.#revealCommented()) this.body.update?.();
    else this.body.drawExtras?.();
    this.#drawFileCards();
  }

  coloursOf(line) {
    const [texts, colours, number] =
      line.kind === "removed" ? [this.oldTexts, this.oldColours, line.old] : [this.newTexts, this.newColours, line.now];
    return texts?.[number - 1] === line.text ? colours[number - 1] : [];
  }

  /** Marks the rows of an element that was just built. */
  rowsBuilt(root) {
    if (this.picked) this.pick(this.picked, root);
    this.changes.cursor.mark(this, root);
    this.changes.find?.mark(root);
  }

  /** Marks the lines that a comment is being written on: {side, from, to}, or null. */
  pick(picked, root = this.node) {
    this.picked = picked;
    for (const node of root.querySelectorAll(".is-picked")) node.classList.remove("is-picked");
    if (!picked) return;
    const side = picked.side === "old" ? "old" : "new";
    for (const unit of root.querySelectorAll(".doc-unit")) {
      unit.classList.toggle("is-picked", side === "new" && Number(unit.dataset.line) <= picked.to && Number(unit.dataset.end) >= picked.from);
    }
    for (const cell of root.querySelectorAll(`.code-num[data-side="${side}"]`)) {
      const number = Number(cell.dataset.line);
      if (number < picked.from || number > picked.to) continue;
      const old = cell.classList.contains("num-old") && cell.parentElement.classList.contains("pair") && side === "new";
      if (!old) (cell.parentElement.classList.contains("pair") ? cell.nextElementSibling : cell.parentElement).classList.add("is-picked");
    }
  }

  #read(part) {
    this.hunks = readHunks(part ?? "");
    this.lines = new FileLines(this.hunks, WHOLE.includes(this.data.status));
  }

  #height() {
    if (this.isFolded) return HEADER_HEIGHT;
    if (this.#isPicture()) return 300;
    return HEADER_HEIGHT + LINE_HEIGHT * (this.data.additions + this.data.deletions + 8);
  }

  #isPicture() {
    return this.data.kind === "image" && (this.isRendered || !this.hasSource);
  }

  /** Their cards need the lines of a picture in text. */
  #hasCommentedLines() {
    return this.hasSource && Boolean(this.changes.review?.placesIn(this.data.path).some(({ from }) => from > 0));
  }

  #isPinned() {
    return Boolean(this.node.querySelector(".is-pinned"));
  }

  #build() {
    this.header ??= new FileHeader(this);
    this.header.update();
    this.node.dataset.folded = String(this.isFolded);
    if (this.isFolded) return replace(this.node, this.header.node);
    const waiting = this.ready();
    if (!waiting) return this.#fill();
    replace(this.node, this.header.node, h("p", { class: "file-note muted" }, "Loading…"));
    waiting.then(() => this.lazy.isBuilt(this.node) && this.#fill(), this.changes.failed);
    return undefined;
  }

  #fill() {
    this.fileCards = h("div", { class: "file-cards" });
    this.body = this.#makeBody();
    const notes = notesOf(this.data, this.lines.items.length > 0).map((text) => h("p", { class: "file-note muted" }, text));
    replace(this.node, this.header.node, notes, this.fileCards, this.body?.node);
    this.body?.update?.();
    this.#drawFileCards();
    if (!this.#isPicture() && this.data.kind !== "binary") this.#colour();
  }

  #makeBody() {
    if (this.#isPicture()) return imageBody(this.changes.task, this.data);
    if (this.data.kind === "binary") return null;
    if (this.isRendered && this.hasSource) return new DocumentBody(this, this.#whole());
    return this.lines.items.length ? new FileRows(this) : null;
  }

  #drop() {
    this.body?.clear?.();
    this.body = null;
    this.node.replaceChildren();
  }

  #drawFileCards() {
    if (this.fileCards) replace(this.fileCards, this.cardsAt("file", 0));
  }

  /** The lines of the new text. */
  #whole() {
    return this.data.too_large ? Promise.resolve(null) : this.changes.texts.lines(this.data.new_blob);
  }

  async #colour() {
    if (this.isColoured || this.data.too_large || !["text", "markdown", "image"].includes(this.data.kind)) return this.#useTexts();
    const { texts } = this.changes;
    const { new_blob: now, old_blob: old, path, old_path: oldPath } = this.data;
    this.isColoured = true;
    try {
      [this.newTexts, this.oldTexts] = await Promise.all([texts.lines(now), texts.lines(old)]);
      this.#useTexts();
      [this.newColours, this.oldColours] = await Promise.all([texts.colours(now, path), texts.colours(old, oldPath || path)]);
      this.body?.recolour?.();
    } catch (error) {
      this.isColoured = false;
      if (error.status !== 404) this.changes.failed(error);
    }
    return undefined;
  }

  /** Shows what needs the whole text: the number of lines at the end, and lines with comments. */
  #useTexts() {
    if (!this.newTexts || !this.body?.updateEnd) return;
    const changed = this.lines.setTotal(this.newTexts.length);
    if (this.#revealCommented()) this.changes.keepPlace(this.node, () => this.body.update());
    else if (changed) this.body.updateEnd();
  }

  #revealCommented() {
    if (!this.newTexts || !this.lines) return false;
    let changed = false;
    for (const { side, from, to } of this.changes.review?.placesIn(this.data.path) ?? []) {
      const name = side === "old" ? "old" : "new";
      if (from && !this.lines.has(name, to)) changed = this.lines.revealLines(name, from, to, this.newTexts) || changed;
    }
    return changed;
  }
}

/** The sides and numbers that a line can have comments on. */
function sidesOf(line) {
  if (!line) return [];
  return [
    ["old", line.kind === "added" ? null : line.old],
    ["new", line.now],
  ].filter(([, number]) => number !== null);
}

function extraRow(side, card) {
  return h("div", { class: "line-extra", role: "row", data: { side: side === "old" ? "old" : "new" } }, h("div", { role: "cell", class: "extra-cell" }, card));
}
