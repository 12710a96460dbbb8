/** The header of a task's page in one line: title, status, time and cost, the review and the other actions. */

import { h, replace } from "../dom.js";
import { money, span, statusName, tokens, usedTokens } from "../format.js";
import { reviewPath } from "../review/path.js";
import { ActionMenu } from "./action_menu.js";

/** An element that `update(task)` and `draw()` keep current; `done(task)` gets the result of an action. */
export class TaskHeader {
  constructor(id, done) {
    this.title = h("h1", { class: "cut task-name" });
    this.chip = h("span", { class: "chip" });
    this.facts = h("p", { class: "muted cut num task-sums" });
    this.review = h("a", { class: "btn task-review", href: reviewPath(id), hidden: true }, "Review");
    this.menu = new ActionMenu(done);
    this.node = h("header", { class: "task-head" },
      h("a", { class: "btn quiet square", href: "/", "aria-label": "Back to the board", title: "Back to the board" }, "←"),
      this.title, this.chip, h("span", { class: "grow" }), this.facts, this.review, this.menu.node);
  }

  update(task) {
    this.task = task;
    replace(this.title, task.title || task.id);
    this.title.title = `${task.title} · ${task.id}`;
    this.chip.dataset.status = task.status;
    this.chip.textContent = statusName(task.status, task.code);
    this.review.hidden = !task.attempts.length || task.status === "in_progress";
    this.menu.update(task);
    this.draw();
  }

  /** Draws what changes with time alone; `live` are the sums of a running attempt. */
  draw(live = null) {
    const { task } = this;
    const usage = live?.task_usage ?? task.usage;
    const cost = live?.task_cost_usd ?? task.cost_usd;
    const used = usedTokens(usage);
    const parts = [elapsed(task), used > 0 && `${tokens(used)} tokens`, cost !== null && money(cost)];
    const text = parts.filter(Boolean).join(" · ");
    if (this.facts.textContent !== text) this.facts.textContent = text;
  }
}

/** From the first attempt to the end, or to now. */
function elapsed(task) {
  const first = task.attempts[0];
  if (!first) return "";
  const end = task.status === "in_progress" ? Date.now() : Date.parse(task.updated_at);
  return span((end - Date.parse(first.started_at)) / 1000);
}
