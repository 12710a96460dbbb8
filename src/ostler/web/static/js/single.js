/** One task in one file: replay, request and changes. */

import { h } from "./dom.js";
import { clock, money, statusName, tokens } from "./format.js";
import { markdown } from "./markdown.js";
import { diffView } from "./task/diff.js";
import { patchLines } from "./task/patch.js";
import { createReplay } from "./task/replay.js";

const MOST_LINES = 5000;

const data = JSON.parse(document.getElementById("data").textContent);
const stage = h("div", {});
document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
document.getElementById("main").append(
  h(
    "div",
    { class: "page stack single" },
    header(data.task),
    data.cut && h("p", { class: "muted" }, "This page shows only the beginning of the log."),
    stage,
    section("Task", markdown(data.request.body || data.request.title)),
    data.patch && section("Changes", changes(data.patch)),
    h("footer", { class: "faint" }, "Made by ostler export. This page makes no requests."),
  ),
);
createReplay(stage, data).seek(Number.MAX_SAFE_INTEGER); // the whole log is shown; Play restarts it

function header(task) {
  const total = task.usage.input_tokens + task.usage.output_tokens; // as on the page of the task
  const facts = [task.id, clock(task.created_at), task.branch, `${tokens(total)} tokens`, money(task.cost_usd)];
  return h(
    "header",
    { class: "stack" },
    h("div", { class: "row wrap" }, h("h1", {}, task.title), h("span", { class: "chip", data: { status: task.status } }, statusName(task.status))),
    h("p", { class: "muted" }, facts.filter(Boolean).join(" · ")),
    task.message && h("p", {}, task.message),
  );
}

function section(title, body) {
  return h("details", { class: "card" }, h("summary", {}, h("h2", {}, title)), body);
}

function changes(patch) {
  const lines = patchLines(patch);
  const left = lines.length - MOST_LINES;
  return [diffView(lines.slice(0, MOST_LINES)), left > 0 && h("p", { class: "muted" }, `${left} more lines`)];
}
