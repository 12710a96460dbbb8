/** A line above the review: the work changed, somebody decided, or the server does not answer. */

import { h, replace } from "../dom.js";

/** One notice at a time; the one with the highest rank is shown. */
export class Notices {
  constructor() {
    this.shown = new Map();
    this.node = h("div", { class: "review-notice", role: "alert", hidden: true });
  }

  /** Shows a text under a name, with a button {text, run} if there is something to do. */
  show(name, text, { tone = "warn", action = null } = {}) {
    this.shown.set(name, { text, tone, action });
    this.#draw();
  }

  hide(name) {
    if (this.shown.delete(name)) this.#draw();
  }

  #draw() {
    const [one] = [...this.shown.values()].slice(-1);
    this.node.hidden = !one;
    if (!one) return replace(this.node);
    this.node.dataset.tone = one.tone;
    const button = one.action && h("button", { class: "btn", type: "button", on: { click: one.action.run } }, one.action.text);
    return replace(this.node, h("p", { class: "grow" }, one.text), button);
  }
}
