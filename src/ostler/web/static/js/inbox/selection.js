/** The selected tasks of a list, and the bar with the actions for all of them. */

import { h, replace } from "../dom.js";
import { plural } from "../format.js";
import { allows } from "../work/answers.js";

/** Actions for several tasks of the inbox: which ask for it, the text of the button, its look. */
export const DECISIONS = {
  approve: { fits: ({ asks }) => asks === "approve", text: "Approve", look: "good", key: "a" },
  merge: { fits: ({ asks, kind, diffstat, held, conflict }) => asks === "approve" && kind === "review" && diffstat && !held && !conflict, text: "Approve and merge", look: "", key: "m" },
  retry: { fits: ({ asks, code }) => asks === "retry" && code !== "BUDGET_EXCEEDED", text: "Retry", look: "primary", key: "r" },
  resume: { fits: ({ asks }) => asks === "resume", text: "Resume", look: "primary", key: "r" },
};

/** Actions for several completed tasks. */
export const ACCEPTANCES = {
  merge: { fits: (row) => allows(row, "merge"), text: "Merge", look: "primary", key: "m" },
  publish: { fits: (row) => allows(row, "publish"), text: "Pull request", look: "" },
  rebase: { fits: (row) => allows(row, "rebase"), text: "Rebase", look: "" },
};

/** `actions` are one of the tables above; `items()` are the shown tasks in order, `changed()` redraws them, `act(verb, items)` performs an action. */
export class Selection {
  #chosen = new Set();
  #last = null;
  #actions;
  #items;
  #changed;
  #act;
  #text = h("strong", { class: "num", "aria-live": "polite" });
  #buttons = h("div", { class: "row wrap" });
  node = h("div", { class: "inbox-batch row wrap", role: "region", "aria-label": "Selected tasks", hidden: true }, this.#text, this.#buttons);

  constructor({ actions, items, changed, act }) {
    this.#actions = actions;
    this.#items = items;
    this.#changed = changed;
    this.#act = act;
  }

  get size() {
    return this.#chosen.size;
  }

  has(id) {
    return this.#chosen.has(id);
  }

  /** Selects a task or removes it; with `extend`, selects all from the last one to it. */
  toggle(id, extend = false) {
    const ids = this.#items().map((item) => item.id);
    const from = ids.indexOf(this.#last);
    if (extend && from >= 0) {
      const [first, last] = [from, ids.indexOf(id)].sort((one, other) => one - other);
      for (const each of ids.slice(first, last + 1)) this.#chosen.add(each);
    } else if (!this.#chosen.delete(id)) this.#chosen.add(id);
    this.#last = id;
    this.draw();
    this.#changed();
  }

  /** Selects nothing. */
  clear() {
    this.#chosen.clear();
    this.#last = null;
    this.draw();
    this.#changed();
  }

  /** Performs the action of a key on the selected tasks; false without any. */
  press(key) {
    const fitting = Object.entries(this.#actions).filter(([, batch]) => batch.key === key);
    const [verb, found] = fitting.map(([name, { fits }]) => [name, this.#selected().filter(fits)]).find(([, items]) => items.length) ?? [];
    if (!this.size) return false;
    if (verb) this.#act(verb, found);
    return true;
  }

  /** Draws the bar; tasks that left are not selected any more. */
  draw() {
    const ids = new Set(this.#items().map((item) => item.id));
    for (const id of this.#chosen) if (!ids.has(id)) this.#chosen.delete(id);
    this.node.hidden = !this.size;
    this.#text.textContent = `${plural(this.size, "task")} selected`;
    const selected = this.#selected();
    const parts = Object.entries(this.#actions).map(([verb, { fits, text, look }]) => {
      const found = selected.filter(fits);
      const props = { class: `btn ${look}`, type: "button", data: { verb }, on: { click: () => this.#act(verb, found) } };
      return found.length > 0 && h("button", props, `${text} ${found.length}`);
    });
    const clear = h("button", { class: "btn quiet", type: "button", on: { click: () => this.clear() } }, "Clear", h("kbd", { "aria-hidden": "true" }, "Esc"));
    replace(this.#buttons, parts, clear);
  }

  #selected() {
    return this.#items().filter((item) => this.#chosen.has(item.id));
  }
}
