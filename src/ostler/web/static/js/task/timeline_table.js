/** The timeline as a table, for screen readers. */

import { h } from "../dom.js";
import { clock, plural, span } from "../format.js";
import { stopsOf } from "./lanes.js";

const COLUMNS = ["Phase", "What", "Began", "Lasted", "Status", "Tools"];
const NUMBERS = new Set(["Began", "Lasted", "Tools"]);
const WHAT = { attempt: "Attempt", gate: "Gate", wait: "Wait" };

/** One row per attempt, gate and wait; `open(span)` is called for the selected one. */
export function timelineTable(lanes, now, open) {
  const heads = COLUMNS.map((text) => h("th", { scope: "col", class: NUMBERS.has(text) ? "num" : null }, text));
  const phases = new Map(
    lanes.flatMap((lane) => [...lane.attempts, ...lane.gates, ...lane.waits].map((one) => [one.id, lane.name])),
  );
  const rows = stopsOf(lanes).map((one) => row(one, phases.get(one.id), now, open));
  return h("div", { class: "scroll-x" }, h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)));
}

function row(one, phase, now, open) {
  const name = one.kind === "attempt" ? `#${one.number} ${one.detail}` : one.name;
  const opener =
    one.kind === "wait"
      ? name
      : h("button", { class: "btn quiet", type: "button", on: { click: () => open(one) } }, name);
  return h(
    "tr",
    {},
    h("td", {}, phase),
    h("td", {}, `${WHAT[one.kind]} `, opener),
    h("td", { class: "num" }, clock(one.start, true)),
    h("td", { class: "num" }, span((one.end ?? now) - one.start)),
    h("td", {}, one.end === null && one.kind === "attempt" ? "running" : one.status.replaceAll("_", " ")),
    h("td", { class: "num" }, one.kind === "attempt" ? plural(one.tools.length, "tool") : ""),
  );
}
