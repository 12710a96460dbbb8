/** The colours of a plot, and the same numbers as a table. */

import { h } from "../dom.js";
import { bucketName } from "./scale.js";
import { amount, sum } from "./stack.js";

const HEADS = { hour: "Hour", day: "Day", week: "Week from" };

/** The series of a plot, the most expensive first. */
export function legend({ stack, format }, href = () => null) {
  return h("ul", { class: "legend" }, stack.series.map((one) => h("li", {},
    h("span", { class: "swatch", data: { colour: one.colour } }),
    name(one, href),
    h("span", { class: "num muted" }, amount(sum(one.values), sum(one.unknown), format)))));
}

/** Every number of the plot as text; whether it is open is stored in `kept`. */
export function asTable({ starts, bucket, stack, format, label }, kept) {
  const rows = starts.map((start, at) => [start, at]).filter(([, at]) => stack.sums[at] || stack.unknowns[at]);
  const toggle = ({ currentTarget }) => (kept.open = currentTarget.open);
  return h("details", { class: "as-table", open: kept.open, on: { toggle } },
    h("summary", {}, "As a table"),
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label },
      h("table", {},
        h("thead", {}, h("tr", {},
          h("th", { scope: "col" }, HEADS[bucket]),
          [...stack.series.map((one) => one.name), "Together"].map((name) => h("th", { class: "num", scope: "col" }, name)))),
        h("tbody", {}, rows.reverse().map(([start, at]) => row(start, at, bucket, stack, format))))));
}

function row(start, at, bucket, stack, format) {
  const cell = (value, unknown) => h("td", { class: "num" }, value || unknown ? amount(value, unknown, format) : "");
  return h("tr", {},
    h("th", { scope: "row" }, bucketName(start, bucket)),
    stack.series.map((one) => cell(one.values[at], one.unknown[at])),
    cell(stack.sums[at], stack.unknowns[at]));
}

function name(one, href) {
  const to = one.key === null ? null : href(one.key);
  return to ? h("a", { class: "cut", href: to }, one.name) : h("span", { class: "cut" }, one.name);
}
