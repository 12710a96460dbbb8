/** Runs of pipelines, and one run as a graph. */

import { get } from "../api.js";
import { h, replace } from "../dom.js";
import { ago, money, plural, statusName } from "../format.js";
import { keepFresh } from "../plots/fresh.js";
import { showRun } from "../graph/run.js";
import { startForm } from "../graph/start.js";

const DONE = ["completed", "approved"];

/** Shows the list, or the run that the address names. */
export async function show(root, { run }, signal) {
  if (run !== undefined) return showRun(root, run, signal);
  const body = h("div", { class: "stack" });
  const head = h("div", { class: "row wrap page-head" }, h("h1", { class: "grow" }, "Pipelines"), await startForm());
  replace(root, h("div", { class: "page stack wide-gap" }, head, body));
  await keepFresh({
    load: () => get("/pipelines", {}, signal), draw: ({ pipelines }) => draw(body, pipelines), root: body, signal,
    concerns: ({ type }) => type.startsWith("task_") || type.startsWith("phase_") || type === "gate_decided",
  });
}

function draw(body, runs) {
  const newest = [...runs].sort((a, b) => b.created_at.localeCompare(a.created_at));
  const list = () => h("ul", { class: "runs" }, newest.map((run) => h("li", {}, entry(run))));
  replace(body, newest.length ? list() : nothing());
}

function nothing() {
  return h("div", { class: "card empty stack" },
    h("p", {}, "No pipeline runs yet."),
    h("p", {}, "A pipeline is a file such as ", h("code", {}, ".agents/pipelines/launch.yaml"), ": steps, each a task that goes on with what the steps before it wrote."));
}

function entry({ run, status, created_at: created, cost_usd: usd, steps }) {
  const done = steps.filter((step) => DONE.includes(step.status)).length;
  return h("a", { class: "card run", href: `/pipelines/${encodeURIComponent(run)}`, data: { key: run } },
    h("strong", { class: "cut" }, run),
    h("span", { class: "chip", data: { status } }, statusName(status)),
    strip(steps, done),
    h("span", { class: "num muted" }, `${done} of ${plural(steps.length, "step")}`),
    h("span", { class: "num" }, money(usd)),
    h("span", { class: "muted" }, ago(created)));
}

function strip(steps, done) {
  const description = `${done} of ${plural(steps.length, "step")} done`;
  const part = ({ status, id }) => h("span", { data: { status }, title: `${id}: ${statusName(status)}` });
  return h("span", { class: "strip", role: "img", "aria-label": description }, steps.map(part));
}
