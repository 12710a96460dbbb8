/** The row that the keyboard is at. */

/** `changes` is a ChangesView. Index -1 is the header of a file. */
export class Cursor {
  constructor(changes) {
    Object.assign(this, { changes, file: null, index: -1, anchor: null, moved: () => {} });
  }

  clear() {
    Object.assign(this, { file: null, index: -1, anchor: null });
  }

  /** Goes to a row and focuses it; `extend` keeps the other end of the selected lines. */
  put(file, index, { block = "nearest", extend = false } = {}) {
    if (!extend) this.anchor = null;
    this.node?.classList.remove("is-current");
    Object.assign(this, { file, index });
    const node = file.nodeAt(index);
    if (!node) return;
    node.tabIndex = -1;
    this.#show(node, block);
    node.focus({ preventScroll: true });
    this.mark(file, file.node);
    this.top = this.changes.scroller.scrollTop;
    this.moved();
  }

  /** The file of the last move, until the page is scrolled. */
  get latest() {
    return this.top === this.changes.scroller.scrollTop ? this.file : null;
  }

  /** The place of the selected lines: {side, line, end}, or null. */
  get place() {
    const here = this.file?.placeAt(this.index) ?? null;
    const other = this.anchor === null ? null : this.file?.placeAt(this.anchor);
    if (!here || !other || other.side !== here.side) return here;
    return { side: here.side, line: Math.min(here.line, other.line), end: Math.max(here.end, other.end) };
  }

  /** Goes some rows further, also into the next file. */
  async move(step, { extend = false } = {}) {
    if (!this.file) return this.#begin();
    const { file, index } = this;
    if (extend) return this.#extend(step);
    if (index + step >= -1 && index + step < file.count) return this.put(file, index + step);
    const next = this.changes.files[this.changes.files.indexOf(file) + step];
    if (!next) return undefined;
    await this.#prepare(next);
    return this.put(next, step > 0 ? -1 : next.count - 1);
  }

  /** Goes to the header of another file. */
  async moveFile(step) {
    const { files } = this.changes;
    const at = this.file ? files.indexOf(this.file) : -1;
    const back = step < 0 && this.index >= 0 ? 0 : step;
    const next = files[Math.max(0, Math.min(files.length - 1, at + back))];
    if (!next) return;
    await this.#prepare(next);
    this.put(next, -1, { block: "start" });
  }

  /** Marks the row in elements that were just built. */
  mark(file, root) {
    if (file !== this.file) return;
    const node = this.index < 0 ? null : root.querySelector(`[data-row="${this.index}"]`);
    for (const one of root.querySelectorAll(".is-current")) one.classList.remove("is-current");
    node?.classList.add("is-current");
  }

  get node() {
    return this.file && this.changes.lazy.isBuilt(this.file.node) ? this.file.nodeAt(this.index) : null;
  }

  #begin() {
    const { files } = this.changes;
    const top = this.changes.top() + 1;
    const first = files.find((file) => file.node.getBoundingClientRect().bottom > top);
    if (first) this.put(first, -1);
  }

  #extend(step) {
    const { file, index } = this;
    if (index < 0 || index + step < 0 || index + step >= file.count) return;
    this.anchor ??= index;
    this.put(file, index + step, { extend: true });
    const place = this.place;
    file.pick(place && { side: place.side, from: place.line, to: place.end });
  }

  async #prepare(file) {
    await file.ready();
    this.changes.lazy.build(file.node);
  }

  /** The header of the file covers the upper end of the visible area. */
  #show(node, block) {
    if (block !== "nearest") return node.closest(".file-head") ? this.file.node.scrollIntoView({ block: "start" }) : node.scrollIntoView({ block });
    const box = node.getBoundingClientRect();
    const top = this.changes.top() + (this.index < 0 ? 0 : 60);
    const bottom = Math.min(innerHeight, this.changes.scroller.getBoundingClientRect().bottom) - 40;
    if (box.top >= top && box.bottom <= bottom) return undefined;
    return node.scrollIntoView({ block: this.index < 0 ? "nearest" : "center" });
  }
}
