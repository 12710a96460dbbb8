/** The cards of one kind; the focus never moves to another card by itself. */

import { h, replace } from "../dom.js";

/** `make(item)` gives {node, update(item)}; the node has `data-task` and a link. */
export class CardSection {
  rows = [];
  grid;
  #parts = new Map();
  #make;
  #gap = -1;

  constructor({ label, make, kind = "" }) {
    this.#make = make;
    this.grid = h("div", { class: "cards", role: "list", "aria-label": label, tabindex: "-1", data: { kind } });
  }

  /** Shows these items. */
  draw(rows) {
    this.rows = rows;
    const active = document.activeElement;
    const held = this.grid.contains(active) ? [...this.grid.children].findIndex((node) => node.contains(active)) : -1;
    const kept = new Map(rows.map((row) => [row.id, this.#parts.get(row.id) ?? this.#make(row)]));
    this.#parts = kept;
    for (const row of rows) kept.get(row.id).update(row);
    const nodes = [...kept.values()].map((part) => part.node);
    if (nodes.length === this.grid.children.length && nodes.every((node, at) => this.grid.children[at] === node)) return;
    replace(this.grid, nodes);
    if (this.grid.contains(active)) active.focus({ preventScroll: true });
    else if (held >= 0) this.#leaveGap(held);
  }

  /** Draws the cards again, for a decision that is held or undone, or a selection. */
  redraw() {
    for (const row of this.rows) this.#parts.get(row.id).update(row);
  }

  /** Moves the focus to a card; false where there is none. */
  focus(index) {
    const link = this.#parts.get(this.rows[index]?.id)?.node.querySelector("a");
    link?.focus();
    return Boolean(link);
  }

  /** The index of the focused card, or -1; the place of one that left is half before the next card. */
  focused() {
    if (document.activeElement === this.grid) return this.#gap;
    const id = document.activeElement?.closest("[data-task]")?.dataset.task;
    return this.grid.contains(document.activeElement) ? this.rows.findIndex((row) => row.id === id) : -1;
  }

  /** The card of an item. */
  node(id) {
    return this.#parts.get(id)?.node;
  }

  /** The focused card left: no other card gets the focus, so that the next key acts on none. */
  #leaveGap(index) {
    this.#gap = index - 0.5;
    if (this.grid.offsetParent) this.grid.focus({ preventScroll: true });
  }
}
