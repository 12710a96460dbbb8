/** The tasks that the person paused, folded: they wait for nothing. */

import { setText, titleLink } from "../board/parts.js";
import { h, replace } from "../dom.js";
import { plural } from "../format.js";
import { setTicking, ticking } from "../tick.js";
import { askInbox } from "./inbox.js";

const MOST = 100;

/** `resume(item)` resumes one. */
export class PausedTasks {
  #summary = h("summary", {});
  #list = h("ul", { class: "paused-list" });
  node = h("details", { class: "paused-tasks", hidden: true }, this.#summary, this.#list);
  #resume;
  #signal;

  constructor(resume, signal) {
    this.#resume = resume;
    this.#signal = signal;
    this.node.addEventListener("toggle", () => this.#load());
  }

  /** Shows their number; an open list is loaded again. */
  draw(count) {
    this.node.hidden = !count;
    setText(this.#summary, `${plural(count, "task")} paused by you`);
    this.#load();
  }

  async #load() {
    if (!this.node.open || this.node.hidden) return;
    const { items, counts } = await askInbox({ kind: "paused", limit: MOST }, this.#signal);
    const left = counts.paused - items.length;
    replace(this.#list, items.map((item) => this.#line(item)), left > 0 && h("li", { class: "muted" }, `and ${left} more`));
  }

  #line(item) {
    const button = h("button", { class: "btn small-btn", type: "button", on: { click: () => this.#resume(item) } }, "Resume", h("span", { class: "hidden-text" }, ` ${item.title}`));
    return h("li", { class: "row" }, titleLink(item), setTicking(ticking("ago", item.waiting_since), item.waiting_since), button);
  }
}
