/** The line on top: the number of tasks by group, and the cost of today. */

import { get } from "../api.js";
import { watchCounts } from "../counts.js";
import { h } from "../dom.js";
import { money, tokens, usedTokens } from "../format.js";
import { setText } from "./parts.js";

const NAMES = { running: "running", waiting: "waiting", needs_you: "need you", done: "done" };

/** `refresh()` reloads the cost of today. */
export class Totals {
  #usd = h("dd", { class: "num" }, "–");
  #budget = h("dt", {}, "today");
  #figures = Object.fromEntries(Object.keys(NAMES).map((group) => [group, h("dd", { class: "num" }, "–")]));
  node = h("dl", { class: "totals", "aria-label": "At a glance" }, this.#parts());

  constructor(signal) {
    watchCounts((counts) => {
      for (const [group, node] of Object.entries(this.#figures)) setText(node, counts[group].toLocaleString("en"));
      this.node.dataset.needs = counts.needs_you ? "yes" : "no";
    }, signal);
  }

  async refresh(signal) {
    const { budget, lines } = await get("/cost", { by: "day" }, signal);
    const line = lines.find(({ key }) => key === today());
    const paid = !line || line.cost_usd !== null;
    setText(this.#usd, paid ? money(line?.cost_usd ?? 0) : tokens(usedTokens(line.usage)));
    setText(this.#budget, !paid ? "tokens today" : budget?.day_usd ? `of ${money(budget.day_usd)} today` : "today");
  }

  #parts() {
    const counted = Object.entries(NAMES).map(([group, name]) => h("div", { data: { group } }, this.#figures[group], h("dt", {}, name)));
    return [...counted, h("div", { data: { group: "cost" } }, this.#usd, this.#budget)];
  }
}

/** Today in local time, as in the API. */
function today() {
  const now = new Date();
  return [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((part) => String(part).padStart(2, "0")).join("-");
}
