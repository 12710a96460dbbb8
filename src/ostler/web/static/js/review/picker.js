/** Lines are chosen for a comment at their numbers: a click, a drag, or Shift and a click. */

/** Watches the line numbers and the plus signs of documents; `changes` is a ChangesView. */
export function watchPicks(changes, signal) {
  const picker = new Picker(changes);
  const on = (event, listener) => changes.list.addEventListener(event, listener, { signal });
  on("pointerdown", (event) => picker.begin(event));
  on("pointermove", (event) => picker.extend(event));
  on("click", (event) => picker.click(event));
  addEventListener("pointerup", () => picker.end(), { signal });
}

class Picker {
  constructor(changes) {
    Object.assign(this, { changes, from: null, to: null, last: null });
  }

  /** A drag begins; with a finger it scrolls instead. */
  begin(event) {
    const spot = this.#spot(event.target);
    if (!spot || event.button || event.pointerType === "touch") return;
    event.preventDefault();
    const extends_ = event.shiftKey && this.last?.file === spot.file && this.last.side === spot.side;
    this.from = extends_ ? this.last : spot;
    this.to = spot;
    this.#show();
  }

  extend(event) {
    if (!this.from) return;
    const spot = this.#spotAt(event);
    if (!spot || spot.file !== this.from.file || spot.side !== this.from.side || spot.line === this.to.line) return;
    this.to = spot;
    this.#show();
  }

  end() {
    if (!this.from) return;
    const { file, side } = this.from;
    const [line, end] = [this.from.line, this.to.line].sort((one, other) => one - other);
    this.last = this.from;
    this.from = null;
    this.changes.review.write(file, side, line, end);
  }

  /** The number of a line that was touched, or the plus sign of a block. */
  click(event) {
    const add = event.target.closest?.(".doc-add");
    if (add) {
      this.#addBlock(this.#fileOf(add), Number(add.dataset.line), Number(add.dataset.end), event.shiftKey);
    } else if (event.pointerType === "touch") {
      const spot = this.#spot(event.target);
      if (spot) this.changes.review.write(spot.file, spot.side, spot.line, spot.line);
    }
  }

  /** A block of a document; with Shift, all blocks from the last one to it. */
  #addBlock(file, line, end, isShift) {
    const { last } = this;
    const from = isShift && last?.file === file && last.side === file.side ? last : { line, end };
    this.last = { file, side: file.side, line, end };
    this.changes.review.write(file, file.side, Math.min(line, from.line), Math.max(end, from.end ?? from.line));
  }

  #show() {
    const [from, to] = [this.from.line, this.to.line].sort((one, other) => one - other);
    this.from.file.pick({ side: this.from.side, from, to });
  }

  /** The line under the pointer, wherever in the row it is. */
  #spotAt({ clientX, clientY }) {
    const under = document.elementFromPoint(clientX, clientY);
    const row = under?.closest?.(".code-line");
    if (!row || !this.changes.list.contains(row)) return null;
    const side = this.from.side === "old" ? "old" : "new";
    const cell = [...row.querySelectorAll(".code-num[data-line]")].findLast((one) => one.dataset.side === side);
    return cell ? this.#spot(cell) : null;
  }

  #spot(node) {
    const cell = node.closest?.(".code-num[data-line]");
    if (!cell) return null;
    const file = this.#fileOf(cell);
    return { file, side: cell.dataset.side === "old" ? "old" : file.side, line: Number(cell.dataset.line) };
  }

  #fileOf(node) {
    return this.changes.fileOf(node.closest(".file-diff").dataset.path);
  }
}
