/** The header of a task's page: title, status, time and cost. */

import { h, replace } from "../dom.js";
import { ago, clock, money, plural, span, statusName, tokens } from "../format.js";

/** An element that `update(task)` and `draw()` keep current. */
export class TaskHeader {
  constructor() {
    this.title = h("h1", { class: "task-name" });
    this.chip = h("span", { class: "chip" });
    this.names = h("div", { class: "row wrap task-names" });
    this.facts = h("dl", { class: "task-facts" });
    this.warnings = h("ul", { class: "task-warnings", "aria-label": "Warnings" });
    this.steps = h("ol", { class: "task-steps", "aria-label": "Phases" });
    this.actions = h("div", { class: "row wrap task-actions" });
    this.node = h(
      "header",
      { class: "task-head" },
      h("a", { class: "muted task-back", href: "/" }, "← Board"),
      h(
        "div",
        { class: "task-top" },
        h("div", { class: "stack grow" }, h("div", { class: "row wrap" }, this.title, this.chip), this.names),
        this.actions,
      ),
      this.steps,
      this.warnings,
      this.facts,
    );
  }

  update(task) {
    this.task = task;
    this.title.textContent = task.title || task.id;
    this.chip.dataset.status = task.status;
    this.chip.textContent = statusName(task.status);
    replace(this.names, names(task));
    replace(
      this.warnings,
      (task.warning_texts ?? []).map((text) => h("li", {}, text)),
    );
    this.warnings.hidden = !task.warning_texts?.length;
    replace(
      this.steps,
      task.phases.map((phase) => step(phase, task)),
    );
    this.draw();
  }

  /** Draws the parts that change with time alone. */
  draw() {
    replace(
      this.facts,
      facts(this.task).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { class: "num" }, value))),
    );
  }
}

function names(task) {
  const plain = (text) => h("span", {}, text);
  return [
    h("code", { class: "task-id" }, task.id),
    plain(`${task.weight} · ${task.priority}`),
    task.branch && h("code", {}, task.branch),
    ...(task.builds_on ?? []).map((one) => plain(`starts from ${one.task} at ${one.commit.slice(0, 10)}`)),
    task.commit && h("code", { title: task.commit }, task.commit.slice(0, 10)),
    task.pipeline &&
      h(
        "a",
        { href: `/pipelines/${encodeURIComponent(task.pipeline)}` },
        `pipeline ${task.pipeline}${task.step ? ` · ${task.step}` : ""}`,
      ),
    task.pr_url && h("a", { href: task.pr_url, target: "_blank", rel: "noopener noreferrer" }, "Pull request"),
    task.output_path && h("code", {}, task.output_path),
    task.waits_for?.length > 0 && plain(`waits for ${task.waits_for.join(", ")}`),
    h("span", { class: "faint", title: task.updated_at }, `changed ${ago(task.updated_at)}`),
  ];
}

function step(phase, task) {
  const now = phase.id === task.phase && !["completed", "approved"].includes(task.status);
  const status = now ? task.status : phase.status;
  const rounds = phase.iterations > 1 ? plural(phase.iterations, "iteration") : "";
  const back = phase.retries ? `returned ${plural(phase.retries, "time")}` : "";
  return h(
    "li",
    { data: { status }, "aria-current": now ? "step" : null },
    h("span", { class: "step-name" }, phase.id),
    h(
      "span",
      { class: "faint" },
      [now ? statusName(task.status).toLowerCase() : phase.status.replaceAll("_", " "), rounds, back]
        .filter(Boolean)
        .join(" · "),
    ),
  );
}

function facts(task) {
  const last = task.attempts.at(-1);
  return [
    ["Agent", last ? [last.executor, last.model].filter(Boolean).join(" · ") : "not started"],
    ["Elapsed", elapsed(task)],
    ["Attempts", String(task.attempts.length)],
    ["Tokens", tokens(task.usage.input_tokens + task.usage.output_tokens)],
    ["Cost", money(task.cost_usd)],
    ...sandbox(task),
    task.resumes_at ? ["Resumes", clock(task.resumes_at)] : ["Created", clock(task.created_at)],
  ];
}

/** The sandbox of the last attempt; working without one is shown too. */
function sandbox({ sandbox: used, permissions }) {
  if (!used) return [];
  const tier = used.tier ?? "supervised";
  const none = ["supervised", "limits"].includes(tier);
  const text = none ? "none" : `${tier}, network ${used.network ?? "on"}`;
  return [["Sandbox", h("span", { title: used.reason ?? "" }, [text, permissions].filter(Boolean).join(" · "))]];
}

/** From the first attempt to the end, or to now. */
function elapsed(task) {
  const first = task.attempts[0];
  if (!first) return "–";
  const end = task.status === "in_progress" ? Date.now() : Date.parse(task.updated_at);
  return span((end - Date.parse(first.started_at)) / 1000);
}
