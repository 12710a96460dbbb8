/** All tasks as one sortable table. */

import { h } from "../dom.js";
import { capital, clock, money, tokens } from "../format.js";
import { setTicking, ticking } from "../tick.js";
import { phaseDots, phaseWords, priority, setPhases, setPriority, setStatus, setText, titleLink } from "./parts.js";
import { VirtualList } from "./virtual.js";

const ROW_HEIGHT = 38;
const PHONE_HEIGHT = 58;
const HEADS = [
  ["Task", null], ["Status", null], ["Phase", null], ["Priority", "priority"], ["Tokens", null], ["Cost", "cost"],
  ["Created", "created"], ["Changed", "updated"],
];
const phone = matchMedia("(max-width: 760px)");

/** `sortBy(sort)` is called when another order is chosen. */
export class TaskTable {
  node;
  list;
  #heads = new Map();
  #empty = h("div", { class: "empty", hidden: true });

  constructor(pile, sort, sortBy, signal) {
    const height = () => (phone.matches ? PHONE_HEIGHT : ROW_HEIGHT);
    const onEnd = () => pile.more();
    this.list = new VirtualList({ label: "Tasks", height, make: line, onEnd, role: "rowgroup", signal });
    const head = h("div", { class: "table-head", role: "row" }, HEADS.map(([name, key]) => this.#head(name, key, sortBy)));
    this.node = h("div", { class: "table", role: "table", "aria-label": "Tasks", "aria-rowcount": "-1" }, head, this.list.node, this.#empty);
    this.#heads.get(sort)?.setAttribute("aria-sort", sort === "priority" ? "ascending" : "descending");
  }

  get lists() {
    return [this.list];
  }

  /** Shows the rows of the pile. */
  draw(pile) {
    this.list.setRows(pile.rows);
    this.#empty.hidden = !pile.error && (!pile.known || pile.rows.length > 0);
    setText(this.#empty, pile.error?.message ?? "No matching tasks.");
  }

  #head(name, key, sortBy) {
    const inner = key ? h("button", { type: "button", on: { click: () => sortBy(key) } }, name) : name;
    const node = h("span", { role: "columnheader" }, inner);
    if (key) this.#heads.set(key, node);
    return node;
  }
}

function line(first) {
  const title = titleLink(first);
  const activity = h("span", { class: "mono muted cut small" });
  const chip = h("span", { class: "chip" });
  const dots = phaseDots();
  const phase = h("span", { class: "cut small muted" });
  const level = priority();
  const used = h("span", { class: "num" });
  const paid = h("span", { class: "num" });
  const made = h("time", { class: "num" });
  const when = ticking("ago", first.updated_at);
  const cells = [[title, activity], [chip], [dots, phase], [level], [used], [paid], [made], [when]];
  const node = h("div", { class: "tile line", role: "row" }, cells.map((cell) => h("span", { role: "cell" }, cell)));
  return { node, update };

  function update(row) {
    setText(title, row.title);
    setText(activity, capital(row.activity) || row.message);
    setStatus(chip, row);
    setPhases(dots, row.phases);
    setText(phase, row.group === "done" ? "" : phaseWords(row));
    setPriority(level, row.priority);
    setText(used, row.tokens ? tokens(row.tokens) : "");
    setText(paid, row.cost_usd === null ? "" : money(row.cost_usd));
    setText(made, clock(row.created_at));
    setTicking(when, row.updated_at);
  }
}
