/** What the agent does now: its action, its todo list, tokens, cost, and what is left of the budget. */

import { get, taskPath } from "../../api.js";
import { h, replace } from "../../dom.js";
import { capital, clock, money, span, tokens, usedTokens } from "../../format.js";
import { setTicking, ticking } from "../../tick.js";
import { doneText, todoList } from "../todo_list.js";

const POLL_MS = 2000;

/** A section that is visible while a run works on the task; `data` is the last ostler.live/1, null without a run. */
export class LiveWork {
  constructor(id, signal) {
    Object.assign(this, { id, signal, data: null, askedAt: 0, todosDrawn: "" });
    this.activity = h("p", { class: "live-activity" });
    this.since = ticking("elapsed", "");
    this.where = h("span", { class: "muted" });
    this.figures = h("dl", { class: "live-figures" });
    this.budget = h("div", { class: "live-budget", hidden: true });
    this.title = h("h2", { class: "rail-title" }, "Now");
    this.todoTitle = h("h3", { class: "rail-title" });
    this.todos = h("div", { class: "live-todos" });
    this.node = h("section", { class: "rail-section live", "aria-label": "What the agent does now", hidden: true },
      h("div", { class: "row" }, this.title, h("span", { class: "grow" }), this.where, this.since),
      this.activity, this.todoTitle, this.todos, this.figures, this.budget);
  }

  /** Loads it again if it may have changed; `isRunning` is the status of the task. */
  async refresh(isRunning, stale) {
    if (!isRunning && !this.data) return;
    if (!stale && Date.now() - this.askedAt < POLL_MS) return;
    this.askedAt = Date.now();
    const data = await get(taskPath(this.id, "live"), {}, this.signal);
    this.data = data.running ? data : null;
    this.#draw();
  }

  /** An event of the feed: a new todo list is shown at once. */
  receive(event) {
    if (event.type !== "todos_reported" || !this.data) return;
    this.data = { ...this.data, todos: event.todos };
    this.#drawTodos();
  }

  #draw() {
    const { data } = this;
    this.node.hidden = !data;
    if (!data) return;
    const activity = capital(data.activity || "begins");
    if (this.activity.textContent !== activity) this.activity.textContent = activity;
    this.node.dataset.waits = String(data.waits);
    this.where.textContent = [data.phase, data.iteration > 1 && `iteration ${data.iteration}`, data.waits && data.until && `until ${clock(data.until)}`].filter(Boolean).join(" · ");
    setTicking(this.since, data.since ? new Date(data.since * 1000).toISOString() : "");
    replace(this.figures, figures(data).map(([name, value, title]) => h("div", { title }, h("dt", {}, name), h("dd", { class: "num" }, value))));
    this.#drawBudget();
    this.#drawTodos();
  }

  #drawBudget() {
    const { budget_usd: budget, left_usd: left } = this.data;
    this.budget.hidden = budget === null;
    if (budget === null) return;
    const used = budget > 0 ? Math.min(1, (budget - left) / budget) : 1;
    const text = `${money(left)} left of ${money(budget)}`;
    const bar = h("progress", { class: "live-bar", max: 1, value: used, "aria-label": `Used of the budget: ${Math.round(used * 100)} %`, data: { tone: used > 0.9 ? "bad" : used > 0.7 ? "warn" : "ok" } });
    replace(this.budget, bar, h("p", { class: "muted small num" }, text, runsOut(this.data)));
  }

  #drawTodos() {
    const { todos } = this.data;
    const drawn = JSON.stringify(todos);
    if (drawn === this.todosDrawn) return;
    this.todosDrawn = drawn;
    this.todoTitle.hidden = !todos.length;
    this.todoTitle.textContent = `Todo list, ${doneText(todos)}`;
    replace(this.todos, todos.length > 0 && todoList(todos));
  }
}

/** Tokens and cost of the task, and how fast the running attempt uses them. */
function figures({ task_usage: usage, task_cost_usd: cost, burn }) {
  const kinds = [["input", usage.input_tokens], ["output", usage.output_tokens], ["cache read", usage.cache_read_tokens], ["cache written", usage.cache_write_tokens]];
  const title = kinds.map(([name, count]) => `${count.toLocaleString("en")} ${name}`).join(", ");
  return [
    ["Tokens", tokens(usedTokens(usage)), title],
    ["Cost", money(cost), cost === null ? "The model has no known price" : null],
    burn && ["Tokens/min", tokens(Math.round(burn.tokens_per_minute)), "With those from the cache"],
    burn?.usd_per_hour > 0 && ["Cost/hour", money(burn.usd_per_hour), null],
  ].filter(Boolean);
}

function runsOut({ left_usd: left, burn }) {
  const seconds = burn?.usd_per_hour > 0 ? (left / burn.usd_per_hour) * 3600 : 0;
  return seconds > 0 && seconds < 86_400 ? `, enough for ${span(seconds)} at this rate` : "";
}
