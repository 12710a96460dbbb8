/** The machine: memory, load, slots for calls, runs, and the running attempts. */

import { get } from "../api.js";
import { h, replace } from "../dom.js";
import { plural } from "../format.js";
import { keepFresh } from "../plots/fresh.js";
import { meter, slots } from "../plots/meter.js";
import { spark } from "../plots/spark.js";
import { countup, keepCounting } from "../plots/times.js";

const SECONDS = 2;
const KEPT = 90;

/** Shows the page. */
export async function show(root, _params, signal) {
  const past = { memory: [], load: [] };
  const body = h("div", { class: "stack wide-gap" });
  replace(root, h("div", { class: "page stack wide-gap" }, h("h1", {}, "Machine"), body));
  keepCounting(body, signal);
  await keepFresh({
    load: () => get("/machine", {}, signal), draw: (given) => draw(body, given, past), root: body, signal, seconds: SECONDS,
  });
}

function draw(body, machine, past) {
  remember(past.memory, machine.memory.available_mb);
  remember(past.load, machine.load[0]);
  replace(body,
    h("div", { class: "tiles" }, memory(machine.memory, past.memory), load(machine, past.load), runs(machine.runs)),
    pools(machine.pools),
    attempts(machine.attempts));
}

function remember(values, value) {
  values.push(value);
  if (values.length > KEPT) values.shift();
}

function memory({ total_mb: total, available_mb: free, floor_mb: floor }, past) {
  const tone = free <= floor ? "bad" : free <= 2 * floor ? "warn" : "ok";
  const words = `available of ${size(total)}; below ${size(floor)} no attempt starts`;
  return h("section", { class: "card tile" },
    h("h2", { class: "tile-name" }, "Memory"),
    h("p", { class: "figure num" }, size(free)),
    meter({ value: free, top: total, mark: floor, tone, description: `${size(free)} ${words}` }),
    h("p", { class: "muted" }, free <= floor ? `${words}: attempts are waiting` : words),
    spark(past, total, KEPT));
}

function load({ load: [value, ...earlier], cpus }, past) {
  const tone = value > 2 * cpus ? "warn" : "run";
  return h("section", { class: "card tile" },
    h("h2", { class: "tile-name" }, "Load"),
    h("p", { class: "figure num" }, value.toFixed(2)),
    meter({ value, top: cpus, tone, description: `load ${value.toFixed(2)} on ${plural(cpus, "processor")}` }),
    h("p", { class: "muted" }, `on ${plural(cpus, "processor")}; ${earlier.map((one) => one.toFixed(2)).join(" and ")} over 5 and 15 min`),
    spark(past, Math.max(cpus, ...past), KEPT));
}

function runs(given) {
  return h("section", { class: "card tile" },
    h("h2", { class: "tile-name" }, "Active runs"),
    h("p", { class: "figure num" }, given.length),
    given.length === 0 && h("p", { class: "muted" }, "No active run: start ostler run, or ostler serve without --view-only."),
    h("ul", { class: "stack tight" }, given.map(run)));
}

function run({ pid, since }) {
  return h("li", {}, "process ", h("span", { class: "num" }, pid), h("span", { class: "muted" }, ", for ", countup(since)));
}

function pools(given) {
  return h("section", { class: "card stack", "aria-labelledby": "pools" },
    h("h2", { id: "pools" }, "Worker slots"),
    h("ul", { class: "pools" }, given.map(pool)));
}

function pool({ name, size: places, nice, memory_mb: limit, active, queued }) {
  const description = `${active} of ${plural(places, "place")} taken${queued ? `, ${queued} waiting` : ""}`;
  const about = [nice ? `nice ${nice}` : "", limit ? `${size(limit)} each` : ""].filter(Boolean).join(", ");
  return h("li", { class: "pool" },
    h("strong", { class: "cut" }, name),
    slots({ active, size: places, description }),
    h("span", { class: "num" }, `${active} of ${places}`),
    h("span", { class: "num" }, queued ? h("span", { class: "chip", data: { status: "deferred" } }, `${queued} waiting`) : ""),
    h("span", { class: "muted" }, about));
}

function attempts(given) {
  const top = Math.max(1, ...given.map((one) => one.memory_mb ?? 0));
  return h("section", { class: "card stack", "aria-labelledby": "attempts" },
    h("h2", { id: "attempts" }, given.length ? `${plural(given.length, "attempt")} running` : "No running attempts"),
    given.length > 0 && h("ul", { class: "attempts" }, given.map((one) => attempt(one, top))));
}

function attempt({ task, number, phase, executor, model, started_at: start, memory_mb }, top) {
  const known = memory_mb !== null && memory_mb !== undefined;
  return h("li", { class: "attempt" },
    h("a", { class: "cut", href: `/tasks/${encodeURIComponent(task)}`, data: { key: `${task}/${number}` } }, task),
    h("span", { class: "cut muted" }, `${phase} ${number}, ${model || executor}`),
    h("span", {}, countup(start)),
    known ? meter({ value: memory_mb, top, description: `${size(memory_mb)} of memory` }) : h("span"),
    h("span", { class: "num" }, known ? size(memory_mb) : h("span", { class: "muted" }, "unknown")));
}

function size(megabytes) {
  if (megabytes < 1024) return `${Math.round(megabytes)} MB`;
  return `${(megabytes / 1024).toFixed(1).replace(/\.0$/, "")} GB`;
}
