/** A cost document line by line, the most expensive first. */

import { h } from "../dom.js";
import { money, tokens, usedTokens } from "../format.js";
import { percent } from "./meter.js";

const SHOWN = 50;
const HEADS = { model: "Model", task: "Task" };

/** The lines as a table with a bar behind each cost. */
export function costList({ lines, total }, by) {
  const top = Math.max(...lines.map((line) => line.cost_usd ?? 0));
  const rest = lines.length - SHOWN;
  return h("section", { class: "card stack" },
    h("table", { class: "cost-list" },
      h("thead", {}, h("tr", {},
        h("th", { scope: "col" }, HEADS[by]),
        ["Attempts", "Tokens", "Cost"].map((name) => h("th", { class: "num", scope: "col" }, name)))),
      h("tbody", {}, lines.slice(0, SHOWN).map((line) => row(line, by, top))),
      h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, "Together"), numbers(total)))),
    rest > 0 && h("p", { class: "muted" }, `and ${rest.toLocaleString("en")} more; ostler cost --by ${by} lists all`));
}

function row(line, by, top) {
  const name = line.key || "its default";
  const label = by === "task" ? h("a", { href: `/tasks/${encodeURIComponent(line.key)}` }, name) : name;
  const bar = h("span", { class: "share", style: { width: percent(line.cost_usd ?? 0, top) }, "aria-hidden": "true" });
  return h("tr", {}, h("td", { class: "name" }, label, bar), numbers(line));
}

function numbers(line) {
  return [
    h("td", { class: "num" }, line.attempts.toLocaleString("en")),
    h("td", { class: "num" }, tokens(usedTokens(line.usage))),
    h("td", { class: "num" }, cost(line)),
  ];
}

function cost({ cost_usd: usd, unknown_attempts: unknown }) {
  if (usd === null) return h("span", { class: "muted" }, "unknown");
  return [money(usd), unknown > 0 && h("span", { class: "muted" }, `+ ${unknown} unknown`)];
}
