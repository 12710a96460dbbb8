/** The four columns: running, waiting, completed, and ended without success. */

import { h } from "../dom.js";
import { tokens } from "../format.js";
import { CARD_HEIGHT, DONE_HEIGHT, ENDED_HEIGHT, doneCard, endedCard, waitingCard } from "./card.js";
import { ACCEPTANCES, Selection } from "../inbox/selection.js";
import { allows } from "../work/answers.js";
import { setText } from "./parts.js";
import { dragInQueue } from "./queue_moves.js";
import { RUNNING_HEIGHT, runningCard } from "./running_card.js";
import { VirtualList } from "./virtual.js";

/** The groups that have a column, with their names. */
export const COLUMNS = { running: "Running", waiting: "Waiting", done: "Done", ended: "Ended" };

const EMPTY = {
  running: "No running tasks.",
  waiting: "No waiting tasks.",
  done: "No completed tasks.",
  ended: "No failed or cancelled tasks.",
};
const KEY = "ostler.column";

/**
 * `piles` has a Pile for each group; `actions` are those of running tasks; `limits` has the hold of new ones;
 * `acceptAll(verb, rows)` merges, publishes or rebases completed ones. `forecast` has the places of waiting tasks; `answer(verb, row)` performs an action.
 * With `narrowed`, an empty column only states that nothing matches.
 */
export class Columns {
  node = h("div", { class: "lanes" });
  parts = new Map();
  #narrowed;
  #selection;
  #tabs = h("div", { class: "lane-tabs", role: "group", "aria-label": "Columns" });

  constructor({ piles, actions, limits, forecast, answer, acceptAll, narrowed, signal }) {
    this.#narrowed = narrowed;
    this.#selection = new Selection({
      actions: ACCEPTANCES,
      items: () => piles.done.rows,
      changed: () => this.parts.get("done").list.redraw(),
      act: (verb, rows) => {
        this.#selection.clear();
        acceptAll(verb, rows);
      },
    });
    const makers = {
      running: [RUNNING_HEIGHT, (row) => runningCard(row, actions, answer)],
      waiting: [CARD_HEIGHT, (row) => waitingCard(row, limits, answer, forecast)],
      done: [DONE_HEIGHT, (row) => doneCard(row, answer, this.#selection)],
      ended: [ENDED_HEIGHT, (row) => endedCard(row, answer)],
    };
    for (const group of Object.keys(COLUMNS)) this.#add(group, piles[group], makers[group], signal);
    this.parts.get("done").node.firstChild.after(this.#selection.node);
    dragInQueue(this.parts.get("waiting").list, piles.waiting);
    this.node.append(this.#tabs, ...[...this.parts.values()].map((part) => part.node));
    this.#choose(localStorage.getItem(KEY) ?? "running");
  }

  /** The lists, from left to right. */
  get lists() {
    return [...this.parts.values()].map((part) => part.list);
  }

  /** Shows the rows of a pile. */
  draw(group, pile) {
    const { list, count, empty, tab } = this.parts.get(group);
    list.setRows(pile.rows);
    if (group === "done") this.#selection.draw();
    setText(count, pile.known ? pile.total.toLocaleString("en") : "");
    setText(tab.lastElementChild, pile.known ? tokens(pile.total) : "");
    empty.hidden = !pile.error && (!pile.known || pile.rows.length > 0);
    setText(empty, pile.error?.message ?? (this.#narrowed ? "No matching tasks." : EMPTY[group]));
  }

  /** Selects the focused completed task, with `extend` all from the last one; false if none is focused. */
  select(extend) {
    const { list } = this.parts.get("done");
    const row = list.rows[list.focused()];
    if (row && (allows(row, "rebase") || allows(row, "publish"))) this.#selection.toggle(row.id, extend);
    return Boolean(row);
  }

  /** Performs the action of a key on the selected tasks; false without any. */
  press(key) {
    return this.#selection.press(key);
  }

  /** Selects nothing; false if nothing was selected. */
  clearSelection() {
    const had = this.#selection.size > 0;
    if (had) this.#selection.clear();
    return had;
  }

  #add(group, pile, [height, make], signal) {
    const name = COLUMNS[group];
    const list = new VirtualList({ label: name, height, make, onEnd: () => pile.more(), signal });
    const count = h("span", { class: "count num" });
    const empty = h("div", { class: "empty", hidden: true });
    const head = h("h2", { class: "lane-head row", id: `lane-${group}` }, h("i", { data: { group } }), name, count);
    const scroll = h("div", { class: "lane-scroll", data: { scrolls: "" } }, list.node, empty);
    const node = h("section", { class: "lane", data: { group }, "aria-labelledby": `lane-${group}` }, head, scroll);
    const tab = h("button", { type: "button", on: { click: () => this.#choose(group) } }, name, h("span", { class: "num" }));
    this.#tabs.append(tab);
    this.parts.set(group, { node, list, count, empty, tab });
  }

  /** On a phone one column is shown at a time. */
  #choose(chosen) {
    localStorage.setItem(KEY, chosen);
    for (const [group, { node, tab, list }] of this.parts) {
      node.classList.toggle("chosen", group === chosen);
      tab.setAttribute("aria-pressed", group === chosen);
      list.plan();
    }
  }
}
