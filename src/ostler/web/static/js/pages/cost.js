/** The cost over time, by model or by task. */

import { get } from "../api.js";
import { h, replace } from "../dom.js";
import { money, tokens } from "../format.js";
import { keepInAddress } from "../router.js";
import { refused } from "../toast.js";
import { bars } from "../plots/bars.js";
import { costList } from "../plots/cost_list.js";
import { costTiles } from "../plots/cost_tiles.js";
import { keepFresh } from "../plots/fresh.js";
import { asTable, legend } from "../plots/legend.js";
import { bucketName, DAY } from "../plots/scale.js";
import { segments } from "../plots/segments.js";
import { amount, stacked, trimmed } from "../plots/stack.js";
import { moment } from "../plots/times.js";

const RANGES = { today: "Today", week: "7 days", month: "30 days", all: "All" };
const GROUPS = { model: "By model", task: "By task" };
const MEASURES = { usd: "Dollars", tokens: "Tokens" };
const EVER = "2020-01-01";
const EACH = { hour: "each hour", day: "each day", week: "each week" };
const LINKS = { task: (id) => `/tasks/${encodeURIComponent(id)}` };
const UNKNOWN = "The cost is unknown: the agents reported none, and their models have no known price. Tokens are shown.";
const TABLE = { open: false };
const DAYS = { today: 1, week: 7, month: 30 };

/** Shows the page. */
export async function show(root, { query }, signal) {
  const view = {
    range: known(RANGES, query.get("range"), "week"),
    by: known(GROUPS, query.get("by"), "model"),
    measure: known(MEASURES, query.get("in"), "usd"),
  };
  const body = h("div", { class: "stack wide-gap" });
  let refresh = async () => {};
  const choose = (name) => (value) => {
    view[name] = value;
    keepInAddress({ range: view.range, by: view.by, in: view.measure });
    refresh().catch(refused);
  };
  const head = h("div", { class: "row wrap page-head" }, h("h1", { class: "grow" }, "Cost"), controls(view, choose));
  replace(root, h("div", { class: "page stack wide-gap" }, head, body));
  refresh = await keepFresh({
    load: () => load({ ...view }, signal), draw: (given) => draw(body, given), root: body, signal,
    concerns: ({ type }) => type === "attempt_ended",
  });
}

function known(options, given, otherwise) {
  return given in options ? given : otherwise;
}

function controls(view, choose) {
  return [
    segments({ label: "Range", name: "range", options: RANGES, value: view.range, choose: choose("range") }),
    segments({ label: "Group", name: "by", options: GROUPS, value: view.by, choose: choose("by") }),
    segments({ label: "Measure", name: "in", options: MEASURES, value: view.measure, choose: choose("measure") }),
  ];
}

async function load(view, signal) {
  const since = firstDay(view.range);
  const bucket = view.range === "today" ? "hour" : "day";
  const [sum, series] = await Promise.all([
    get("/cost", { by: view.by, since }, signal),
    get("/cost/series", { by: view.by, bucket, since }, signal),
  ]);
  return view.range === "all" ? { view, sum, series: trimmed(series) } : { view, sum, series };
}

/** The first day of a range as 2026-11-15, in local time. */
function firstDay(range) {
  if (!(range in DAYS)) return EVER;
  return new Date(Date.now() - (DAYS[range] - 1) * DAY).toLocaleDateString("sv-SE");
}

function draw(body, { view, sum, series }) {
  const spent = () => [plotCard(view, series, sum), costList(sum, view.by)];
  replace(body, costTiles(sum, RANGES[view.range]), sum.lines.length ? spent() : nothing(view));
}

function nothing({ range }) {
  const words = range === "all" ? "yet: no attempt has ended" : range === "today" ? "today" : `in the last ${RANGES[range]}`;
  return h("div", { class: "card empty" }, `Nothing was spent ${words}.`);
}

function plotCard(view, series, sum) {
  const plot = plotOf(view, series, sum);
  const unknown = view.measure === "usd" && sum.total.cost_usd === null;
  return h("section", { class: "card stack", "aria-label": plot.label },
    h("h2", {}, plot.label),
    unknown ? h("p", { class: "empty" }, UNKNOWN) : [bars(plot), legend(plot, LINKS[view.by]), asTable(plot, TABLE)]);
}

function plotOf(view, { buckets, bucket, series }, sum) {
  const stack = stacked(series, view.measure);
  const format = view.measure === "usd" ? money : tokens;
  const starts = buckets.map(moment);
  const day = sum.budget?.day_usd;
  const line = view.measure === "usd" && bucket === "day" && day ? { value: day, text: `day budget ${money(day)}` } : null;
  const label = `${MEASURES[view.measure]} ${EACH[bucket]}, ${GROUPS[view.by].toLowerCase()}`;
  const describe = (at) => inWords(bucketName(starts[at], bucket), stack, at, format);
  return { starts, bucket, stack, format, line, label, describe };
}

function inWords(name, stack, at, format) {
  const parts = stack.series.filter((one) => one.values[at] || one.unknown[at]).map((one) => `${one.name} ${amount(one.values[at], one.unknown[at], format)}`);
  if (!parts.length) return `${name}: nothing`;
  return `${name}: ${amount(stack.sums[at], stack.unknowns[at], format)}. ${parts.slice(0, 8).join(", ")}`;
}
