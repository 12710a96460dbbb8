/** The lines of a file that a diff shows, and the gaps between them, which can be filled from the whole text. */

const CONTEXT = 3; // lines of context in a patch
export const STEP = 20; // lines that one step into a gap shows

/** `items` are lines of readHunks ({type: "line"}) and gaps ({type: "gap", old, now, count, title}); a null count is unknown. */
export class FileLines {
  constructor(hunks, whole = false) {
    this.items = [];
    let next = { old: 1, now: 1 };
    for (const { old, now, title, lines } of hunks) {
      if (now > next.now || old > next.old) this.items.push(gap(next, now - next.now, title));
      for (const line of lines) this.items.push({ type: "line", ...line });
      next = after(lines, { old, now });
    }
    const tail = hunks.at(-1)?.lines.slice(-CONTEXT) ?? [];
    const goesOn = tail.length === CONTEXT && tail.every((line) => line.kind === "same" && !line.bare);
    if (goesOn && !whole) this.items.push(gap(next, null, ""));
  }

  /** Sets the number of lines of the new text; true if an item changed. */
  setTotal(total) {
    const last = this.items.at(-1);
    if (last?.type !== "gap" || last.count !== null) return false;
    last.count = total - last.now + 1;
    if (last.count <= 0) this.items.pop();
    return true;
  }

  /** Fills a gap with lines of the new text: "all", "down" from its beginning, or "up" from its end. */
  reveal(one, how, texts) {
    const at = this.items.indexOf(one);
    if (at < 0) return;
    this.setTotal(texts.length);
    const count = Math.min(one.count, how === "all" ? one.count : STEP);
    if (how === "up") this.#fill(at, one.count - count, one.count, texts);
    else this.#fill(at, 0, count, texts);
  }

  /** Fills the gaps that have these lines of the new text, or the old one, with `CONTEXT` lines around them. */
  revealLines(side, from, to, texts) {
    this.setTotal(texts.length);
    const wanted = this.items.filter(
      (item) => item.type === "gap" && item[side] <= to + CONTEXT && item[side] + item.count > from - CONTEXT,
    );
    for (const one of wanted) {
      const start = Math.max(0, from - CONTEXT - one[side]);
      const end = Math.min(one.count, to + CONTEXT + 1 - one[side]);
      if (end > start) this.#fill(this.items.indexOf(one), start, end, texts);
    }
    return wanted.length > 0;
  }

  /** Whether a line is shown. */
  has(side, number) {
    return this.items.some((item) => item.type === "line" && item[side] === number);
  }

  /** The texts of these lines, as far as they are shown. */
  texts(side, from, to) {
    const within = (item) => item.type === "line" && item[side] !== null && item[side] >= from && item[side] <= to;
    return this.items.filter(within).map((item) => item.text);
  }

  #fill(at, start, end, texts) {
    const one = this.items[at];
    const shift = (count) => ({ old: one.old + count, now: one.now + count });
    const filled = texts
      .slice(one.now - 1 + start, one.now - 1 + end)
      .map((text, index) => ({ type: "line", kind: "same", text, ...shift(start + index), bare: false, context: true }));
    const before = start > 0 ? [gap(one, start, "")] : [];
    const behind = end < one.count ? [gap(shift(end), one.count - end, one.title)] : [];
    this.items.splice(at, 1, ...before, ...filled, ...behind);
  }
}

/** The lines of a text; a line break at the end begins no further one. */
export function linesOf(text) {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

const gap = ({ old, now }, count, title) => ({ type: "gap", old, now, count, title });

function after(lines, next) {
  const count = (side) => lines.filter((line) => line[side] !== null).length;
  return { old: next.old + count("old"), now: next.now + count("now") };
}
