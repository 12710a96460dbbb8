/** The phases of a task, with the state of each. */

import { h } from "../../dom.js";
import { plural, statusName } from "../../format.js";

const MARKS = { completed: "✓", approved: "✓", skipped: "–", in_progress: "●", failed: "✗" };

/** The list; null for a task of one phase, whose status is that of the task. */
export function phaseList(task) {
  return task.phases.length > 1 ? h("ol", { class: "task-steps" }, task.phases.map((phase) => row(phase, task))) : null;
}

function row(phase, task) {
  const now = phase.id === task.phase && !["completed", "approved"].includes(task.status);
  const status = now ? task.status : phase.status;
  const state = now ? statusName(task.status).toLowerCase() : phase.status.replaceAll("_", " ");
  const rounds = phase.iterations > 1 && plural(phase.iterations, "iteration");
  const back = phase.retries > 0 && `returned ${plural(phase.retries, "time")}`;
  return h("li", { data: { status }, "aria-current": now ? "step" : null },
    h("span", { class: "rail-mark", "aria-hidden": "true" }, MARKS[status] ?? "·"),
    h("span", { class: "cut" }, phase.id),
    h("span", { class: "muted cut rail-reason" }, [state, rounds, back].filter(Boolean).join(" · ")));
}
