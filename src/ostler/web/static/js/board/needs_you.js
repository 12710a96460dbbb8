/** The tasks that wait for a person: a section for each kind, the most urgent first. */

import { h } from "../dom.js";
import { plural } from "../format.js";
import { KINDS } from "../inbox/kinds.js";
import { PausedTasks } from "../inbox/paused.js";
import { CardSection } from "../inbox/section.js";
import { smallCard } from "../inbox/small_card.js";
import { setText } from "./parts.js";

const STEP = 2;

/** Draws an Inbox; `answer(action, item)` performs an action. */
export class NeedsYou {
  node = h("section", { class: "needs", "aria-labelledby": "needs-title", hidden: true });
  #title = h("h2", { id: "needs-title", "aria-live": "polite" });
  #parts = new Map();
  #paused;
  #inbox = null;

  constructor(answer, signal) {
    const sections = h("div", { class: "needs-sections" });
    for (const [kind, { title }] of Object.entries(KINDS)) sections.append(this.#section(kind, title, answer));
    this.#paused = new PausedTasks((item) => answer("resume", item), signal);
    const all = h("a", { class: "btn quiet small-btn", href: "/inbox" }, "Open the inbox");
    this.head = h("div", { class: "row" }, this.#title, all);
    this.node.append(this.head, sections, this.#paused.node);
  }

  /** The sections that show a task. */
  get lists() {
    return [...this.#parts.values()].map(({ list }) => list);
  }

  /** Shows the items of an Inbox. */
  draw(inbox) {
    this.#inbox = inbox;
    const { total, counts } = inbox;
    this.node.hidden = !total && !counts.paused;
    this.head.hidden = !total;
    setText(this.#title, total === 1 ? "1 task needs you" : `${total.toLocaleString("en")} tasks need you`);
    for (const part of this.#parts.values()) part.node.hidden = !counts[part.kind];
    for (const part of this.#parts.values()) this.#drawSection(part);
    this.#paused.draw(counts.paused);
  }

  /** Draws the cards again, for a decision that is held or undone. */
  redraw() {
    for (const list of this.lists) list.redraw();
  }

  #section(kind, title, answer) {
    const list = new CardSection({ label: title, kind, make: (item) => smallCard(item, answer) });
    const count = h("span", { class: "count num" });
    const more = h("button", { class: "btn quiet small-btn", type: "button", on: { click: () => this.#showMore(kind) } });
    const head = h("h3", { class: "row" }, title, count);
    const node = h("div", { class: "needs-section", hidden: true, data: { kind } }, h("div", { class: "row" }, head, more), list.grid);
    this.#parts.set(kind, { kind, node, list, count, more, shownRows: 1 });
    return node;
  }

  #drawSection(part) {
    const { kind, list, count, more } = part;
    const items = this.#inbox.items[kind];
    list.draw(items.slice(0, this.#room(part)));
    setText(count, this.#inbox.counts[kind].toLocaleString("en"));
    const left = this.#inbox.counts[kind] - list.rows.length;
    more.hidden = left <= 0;
    setText(more, `Show ${plural(left, "other")}`);
  }

  async #showMore(kind) {
    const part = this.#parts.get(kind);
    part.shownRows += STEP;
    if (this.#room(part) > this.#inbox.items[kind].length) await this.#inbox.more(kind);
    this.#drawSection(part);
  }

  /** Shows two cards of a kind at first, or one row, so that running tasks stay visible. */
  #room({ list, shownRows }) {
    const across = getComputedStyle(list.grid).gridTemplateColumns.split(" ").length;
    return Math.max(2, across) * shownRows;
  }
}
