/** The usage of a task: tokens, time and dollars, attempt by attempt. */

import { h, replace } from "../dom.js";
import { money, span, tokens } from "../format.js";

const COLUMNS = ["Attempt", "Agent", "Status", "Time", "Input", "Output", "Cache read", "Cache written", "Cost"];

/** The tab. */
export function spendingTab() {
  const root = h("div", { class: "card scroll-x" });
  const update = (task) =>
    replace(root, task.attempts.length ? table(task) : h("p", { class: "empty" }, "No usage yet."));
  return { node: root, update };
}

function table(task) {
  const head = COLUMNS.map((name, index) => h("th", { scope: "col", class: index > 2 ? "num" : null }, name));
  const unknown = task.attempts.filter((one) => one.cost_usd === null).length;
  return [
    h(
      "table",
      { class: "spending" },
      h("thead", {}, h("tr", {}, head)),
      h("tbody", {}, task.attempts.map(row)),
      h("tfoot", {}, sums(task)),
    ),
    unknown > 0 &&
      h(
        "p",
        { class: "muted" },
        `A dash is an unknown cost (${unknown} of ${task.attempts.length} attempts); it is not included in the total.`,
      ),
  ];
}

function row(one) {
  const name = `#${one.number} ${one.phase}${one.iteration > 1 ? ` ${one.iteration}` : ""}`;
  const time = one.duration_ms === null || one.duration_ms === undefined ? "…" : span(one.duration_ms / 1000);
  const note = one.billing === "subscription" ? "by subscription" : one.cost_source;
  return h(
    "tr",
    {},
    h("td", {}, name),
    h("td", {}, [one.executor, one.model].filter(Boolean).join(" · ")),
    h("td", {}, h("span", { class: "chip", data: { status: one.status } }, one.status)),
    ...numbers(time, one.usage, one.cost_usd, note),
  );
}

function sums(task) {
  const total = task.attempts.reduce((sum, one) => sum + (one.duration_ms ?? 0), 0);
  return h(
    "tr",
    {},
    h("th", { scope: "row", colspan: 3 }, "Together"),
    ...numbers(span(total / 1000), task.usage, task.cost_usd),
  );
}

function numbers(time, usage, cost, note = null) {
  const kinds = [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens];
  const cell = (text, title = null) => h("td", { class: "num", title }, text);
  return [
    cell(time),
    ...kinds.map((count) => cell(tokens(count), count.toLocaleString("en"))),
    cell(money(cost), note),
  ];
}
