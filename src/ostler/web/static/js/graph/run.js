/** One run of a pipeline: its status, its graph, and its steps as a table. */

import { get, post } from "../api.js";
import { h, replace } from "../dom.js";
import { ago, money, plural, statusName } from "../format.js";
import { keepFresh } from "../plots/fresh.js";
import { refused, notify } from "../toast.js";
import { graph } from "./graph.js";

const NOT_TO_RESUME = ["completed", "approved", "in_progress"];

/** Shows the run until `signal` is aborted. The graph keeps its position, so that nothing moves during updates. */
export async function showRun(root, run, signal) {
  const picture = graph(card);
  const [top, bottom] = [h("div"), h("div")];
  const middle = h("section", { class: "card graph-card", "aria-label": "Graph", hidden: true }, picture.frame);
  const page = h("div", { class: "page stack wide-gap" }, top, middle, bottom);
  const tasks = new Set();
  replace(root, page);
  const refresh = await keepFresh({
    load: () => get(`/pipelines/${encodeURIComponent(run)}`, {}, signal), root: page, signal,
    draw: (given) => {
      for (const { task } of given.steps) tasks.add(task);
      middle.hidden = false;
      replace(top, head(given, () => refresh()));
      picture.show(given.steps);
      replace(bottom, table(given.steps));
    },
    concerns: (event) => tasks.has(event.task_id),
  });
}

function head({ run, status, created_at: created, cost_usd: usd, steps }, refresh) {
  return h("div", { class: "row wrap page-head" },
    h("div", { class: "grow" },
      h("p", { class: "muted" }, h("a", { href: "/pipelines", data: { key: "back" } }, "Pipelines")),
      h("h1", { class: "row wrap" }, run, h("span", { class: "chip", data: { status } }, statusName(status))),
      h("p", { class: "muted" }, `${plural(steps.length, "step")}, begun ${ago(created)}`, usd !== null && `, ${money(usd)}`)),
    !NOT_TO_RESUME.includes(status) && resumeButton(run, refresh));
}

function resumeButton(run, refresh) {
  const resume = async ({ currentTarget: button }) => {
    button.disabled = true;
    try {
      await post(`/pipelines/${encodeURIComponent(run)}/resume`);
      notify(`Resumed ${run}`);
      await refresh();
    } catch (error) {
      refused(error);
    } finally {
      button.disabled = false;
    }
  };
  return h("button", { class: "btn", type: "button", data: { key: "resume" }, on: { click: resume } }, "Resume");
}

function card(step) {
  const { id, task, status, revisions, cost_usd: usd, output_path: path, message } = step;
  return h("a", { class: "node", href: `/tasks/${encodeURIComponent(task)}`, title: message || path || "", data: { status, key: `node-${id}` } },
    h("strong", { class: "cut" }, id),
    h("span", { class: "node-state row" },
      h("span", { class: "node-word cut grow" }, statusName(status)),
      revised(revisions),
      usd !== null && h("span", { class: "num muted" }, money(usd))),
    path && h("span", { class: "cut muted mono" }, path));
}

function revised(count) {
  const description = plural(count, "revision");
  return count > 0 && h("span", { class: "num muted", title: description },
    h("span", { "aria-hidden": "true" }, `↻ ${count}`),
    h("span", { class: "hidden-text" }, description));
}

function table(steps) {
  const heads = ["Step", "State", "Needs", "Revisions", "Cost", "Output"];
  return h("section", { class: "card scroll", tabindex: "0", "aria-label": "Steps as a table" },
    h("table", { class: "steps" },
      h("thead", {}, h("tr", {}, heads.map((name) => h("th", { scope: "col", class: ["Revisions", "Cost"].includes(name) ? "num" : "" }, name)))),
      h("tbody", {}, steps.map(row))));
}

function row({ id, task, status, code, message, after, revisions, cost_usd: usd, output_path: path }) {
  return h("tr", {},
    h("th", { scope: "row" }, h("a", { href: `/tasks/${encodeURIComponent(task)}`, data: { key: `row-${id}` } }, id)),
    h("td", {},
      h("span", { class: "chip", data: { status } }, statusName(status)),
      message && h("p", { class: "muted step-message" }, code ? `${code}: ${message}` : message)),
    h("td", { class: "muted" }, after.join(", ")),
    h("td", { class: "num" }, revisions || ""),
    h("td", { class: "num" }, money(usd)),
    h("td", { class: "mono step-path" }, path ?? ""));
}
