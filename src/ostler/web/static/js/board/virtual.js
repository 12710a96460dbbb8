/** A list that draws only its visible rows; all rows have the same height. */

import { h } from "../dom.js";

const AROUND = 4;
const NEAR_END = 30;
const NEWS = 5;

/**
 * `make(row)` gives {node, update(row)}; `onEnd()` is called near the last row.
 * It scrolls with its container: a column or the page.
 */
export class VirtualList {
  rows = [];
  node;
  #drawn = new Map();
  #options;
  #planned = false;
  #fresh = new Set();

  constructor({ label, height, make, onEnd, role = "list", signal }) {
    this.#options = { height, make, onEnd, role };
    this.node = h("div", { class: "virtual", role, "aria-label": label });
    const plan = () => this.plan();
    document.addEventListener("scroll", plan, { capture: true, passive: true, signal });
    addEventListener("resize", plan, { signal });
  }

  get height() {
    const { height } = this.#options;
    return typeof height === "function" ? height() : height;
  }

  /** Shows these rows and keeps the scroll position. */
  setRows(rows) {
    const held = this.#hold();
    this.#fresh = came(this.rows, rows);
    this.rows = rows;
    this.node.style.height = `${rows.length * this.height}px`;
    if (held) this.#letGo(held);
    this.plan();
  }

  /** Draws at the next frame. */
  plan() {
    if (this.#planned) return;
    this.#planned = true;
    requestAnimationFrame(() => {
      this.#planned = false;
      this.#draw();
    });
  }

  /** Redraws the visible rows. */
  redraw() {
    for (const part of this.#drawn.values()) part.update(part.row);
  }

  /** Moves the focus to a row; false where there is none. */
  focus(index) {
    if (index < 0 || index >= this.rows.length) return false;
    const { scroller, top, bottom } = this.#clip();
    const at = this.node.getBoundingClientRect().top + index * this.height;
    if (at < top) scroller.scrollTop -= top - at;
    if (at + this.height > bottom) scroller.scrollTop += at + this.height - bottom;
    this.#draw();
    const link = this.#drawn.get(this.rows[index].id)?.node.querySelector("a");
    link?.focus({ preventScroll: true });
    return Boolean(link);
  }

  /** The index of the focused task, or -1. */
  focused() {
    const node = document.activeElement?.closest("[data-task]");
    return node && this.node.contains(node) ? this.rows.findIndex((row) => row.id === node.dataset.task) : -1;
  }

  #draw() {
    if (!this.node.isConnected || !this.node.offsetParent) return;
    const { first, last } = this.#range();
    const active = document.activeElement;
    const wanted = this.#wanted(first, last, active);
    for (const [id, part] of this.#drawn) if (!wanted.has(id)) this.#drop(id, part);
    let cursor = this.node.firstChild;
    for (const [id, index] of wanted) cursor = this.#place(id, index, cursor);
    if (active !== document.activeElement && this.node.contains(active)) active.focus({ preventScroll: true });
    if (last >= this.rows.length - NEAR_END) this.#options.onEnd?.();
  }

  #wanted(first, last, active) {
    const holder = this.node.contains(active) ? active.closest("[data-task]")?.dataset.task : null;
    const wanted = new Map();
    this.rows.forEach((row, index) => {
      if ((index >= first && index < last) || row.id === holder) wanted.set(row.id, index);
    });
    return wanted;
  }

  #place(id, index, cursor) {
    const row = this.rows[index];
    const part = this.#drawn.get(id) ?? this.#make(row);
    if (part.row !== row) part.update(row);
    part.row = row;
    this.#move(part, index);
    if (part.node === cursor) return cursor.nextSibling;
    this.node.insertBefore(part.node, cursor);
    return cursor;
  }

  #move(part, index) {
    if (part.index === index && part.of === this.rows.length) return;
    [part.index, part.of] = [index, this.rows.length];
    part.node.style.transform = `translateY(${index * this.height}px)`;
    if (this.#options.role !== "list") return part.node.setAttribute("aria-rowindex", index + 2);
    part.node.setAttribute("aria-posinset", index + 1);
    part.node.setAttribute("aria-setsize", this.rows.length);
  }

  #make(row) {
    const part = this.#options.make(row);
    part.node.dataset.task = row.id;
    if (this.#fresh.has(row.id)) part.node.classList.add("fresh");
    this.#drawn.set(row.id, part);
    return part;
  }

  #drop(id, part) {
    part.node.remove();
    this.#drawn.delete(id);
  }

  #range() {
    const { top, bottom } = this.#clip();
    const begin = this.node.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor((top - begin) / this.height) - AROUND);
    return { first, last: Math.ceil((bottom - begin) / this.height) + AROUND };
  }

  #clip() {
    const scroller = this.node.closest("[data-scrolls]");
    const page = { scroller: document.scrollingElement, top: 0, bottom: innerHeight };
    if (!scroller || getComputedStyle(scroller).overflowY === "visible") return page;
    const { top, bottom } = scroller.getBoundingClientRect();
    return { scroller, top: Math.max(0, top), bottom: Math.min(innerHeight, bottom) };
  }

  #hold() {
    if (!this.node.isConnected || !this.rows.length) return null;
    const { scroller, top } = this.#clip();
    const above = Math.floor((top - this.node.getBoundingClientRect().top) / this.height);
    return above > 0 && above < this.rows.length ? { scroller, above, id: this.rows[above].id } : null;
  }

  #letGo({ scroller, above, id }) {
    const now = this.rows.findIndex((row) => row.id === id);
    if (now >= 0 && now !== above) scroller.scrollTop += (now - above) * this.height;
  }
}

/** The tasks that were added one by one; the rows of a loaded page are not new. */
function came(before, now) {
  if (!before.length || now.length - before.length > NEWS) return new Set();
  const had = new Set(before.map((row) => row.id));
  return new Set(now.map((row) => row.id).filter((id) => !had.has(id)));
}
