/** The code of one file: its rows in chunks, which exist only near the visible area. */

import { h } from "../../dom.js";
import { recolour, rowNodes } from "./chunk.js";
import { linesOfRow, rowsOf } from "../diff/rows.js";

const ROWS = 24; // rows of a chunk
const LINE_HEIGHT = 20;

/** A table of rows. `file` is its FileView, which gives the lines, the layout, the colours and the comments. */
export class FileRows {
  constructor(file) {
    this.file = file;
    this.node = h("div", { class: "code-table", role: "table", "aria-label": `Lines of ${file.data.path}` });
    this.chunks = [];
    this.rows = [];
  }

  /** Makes all rows again, after lines were revealed or the layout changed. */
  update() {
    const { file } = this;
    const built = this.chunks.flatMap((chunk, at) => (file.lazy.isBuilt(chunk.node) ? [at] : []));
    this.clear();
    this.rows = rowsOf(file.lines.items, file.shape === "split");
    this.node.dataset.shape = file.shape;
    this.byLine = new Map();
    this.rows.forEach((row, index) => {
      for (const line of linesOfRow(row)) this.#index(line, index);
    });
    for (let start = 0; start < this.rows.length; start += ROWS) this.#add(start, Math.min(start + ROWS, this.rows.length));
    this.node.replaceChildren(...this.chunks.map((chunk) => chunk.node));
    for (const chunk of this.chunks) file.lazy.watch(chunk.node, this.#part(chunk));
    for (const at of built.length ? built : [0]) if (this.chunks[at]) file.lazy.build(this.chunks[at].node);
  }

  /** Draws the last row again, a gap whose number of lines is known now. */
  updateEnd() {
    const { items } = this.file.lines;
    const last = this.rows.at(-1);
    if (last?.type !== "gap") return;
    const chunk = this.chunks.at(-1);
    if (items.at(-1) !== last.item) {
      this.rows.pop();
      chunk.end -= 1;
    }
    if (this.file.lazy.isBuilt(chunk.node)) this.#build(chunk);
  }

  get count() {
    return this.rows.length;
  }

  /** The side and the line of a row; null for a gap. */
  placeAt(index) {
    const line = linesOfRow(this.rows[index]).at(-1);
    if (!line) return null;
    const isOld = line.kind === "removed";
    const number = isOld ? line.old : line.now;
    return { side: isOld ? "old" : this.file.side, line: number, end: number };
  }

  clear() {
    for (const { node } of this.chunks) this.file.lazy.unwatch(node);
    this.chunks = [];
    this.node.replaceChildren();
  }

  /** The index of the row that has a line, or -1. */
  indexOf(side, number) {
    return this.byLine?.get(`${side}${number}`) ?? -1;
  }

  /** The element of a row, which is built if necessary. */
  nodeAt(index) {
    const chunk = this.chunks[Math.floor(index / ROWS)];
    if (!chunk) return null;
    this.file.lazy.build(chunk.node);
    return chunk.node.querySelector(`:scope > [data-row="${index}"]`);
  }

  /** Draws the comments of all built rows again. */
  drawExtras() {
    for (const chunk of this.chunks) if (this.file.lazy.isBuilt(chunk.node)) this.#updateExtras(chunk);
  }

  /** Colours all built rows. */
  recolour() {
    const look = this.#look();
    for (const chunk of this.chunks) {
      for (const node of chunk.node.querySelectorAll(":scope > .code-line")) recolour(node, this.rows[node.dataset.row], look);
    }
  }

  #index(line, index) {
    if (line.old !== null && line.kind !== "added") this.byLine.set(`old${line.old}`, index);
    if (line.now !== null) this.byLine.set(`new${line.now}`, index);
  }

  #add(start, end) {
    this.chunks.push({ node: h("div", { class: "chunk" }), start, end });
  }

  #part(chunk) {
    return {
      build: () => this.#build(chunk),
      drop: () => {
        chunk.node.removeAttribute("role");
        chunk.node.replaceChildren();
      },
      height: () => this.#estimate(chunk),
      keep: () => Boolean(chunk.node.querySelector(".is-pinned")),
    };
  }

  #build(chunk) {
    const look = this.#look();
    const nodes = [];
    for (let at = chunk.start; at < chunk.end; at += 1) nodes.push(...rowNodes(this.rows[at], at, look));
    chunk.node.setAttribute("role", "rowgroup");
    chunk.node.replaceChildren(...nodes);
    this.file.rowsBuilt(chunk.node);
  }

  #updateExtras(chunk) {
    const focused = chunk.node.contains(document.activeElement) ? document.activeElement : null;
    for (const extra of chunk.node.querySelectorAll(":scope > .line-extra")) extra.remove();
    for (const node of [...chunk.node.querySelectorAll(":scope > .code-line")]) {
      const extras = this.file.extras(this.rows[node.dataset.row]);
      if (extras.length) node.after(...extras);
    }
    if (focused?.isConnected) focused.focus({ preventScroll: true });
  }

  #look() {
    const { file } = this;
    return {
      shape: file.shape,
      colours: (line) => file.coloursOf(line),
      extras: (row) => file.extras(row),
      reveal: (item, how) => file.reveal(item, how),
    };
  }

  /** The height of a chunk that was not built yet, from the lengths of its lines. */
  #estimate({ start, end }) {
    const columns = this.file.columns;
    let height = 0;
    for (let at = start; at < end; at += 1) {
      const longest = Math.max(0, ...linesOfRow(this.rows[at]).map((line) => line.text.length));
      height += LINE_HEIGHT * Math.max(1, Math.ceil(longest / columns));
    }
    return height;
  }
}
