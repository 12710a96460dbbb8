/** The board: tasks that need a person, running, waiting and completed tasks, and the cost. */

import { Actions } from "../board/actions.js";
import { COLUMNS, Columns } from "../board/columns.js";
import { areNarrow, filterLine, readFilters } from "../board/filters.js";
import { ForecastLine } from "../board/forecast.js";
import { GROUP_NAMES, groupAfter, groupsToAsk, moved } from "../board/happened.js";
import { Limits } from "../board/limits.js";
import { TaskTable } from "../board/list.js";
import { boardKeys } from "../board/moves.js";
import { NeedsYou } from "../board/needs_you.js";
import { Pile } from "../board/pile.js";
import { Queue } from "../board/queue.js";
import { Totals } from "../board/totals.js";
import { Problems } from "../board/problems.js";
import { welcome } from "../board/welcome.js";
import { h, replace } from "../dom.js";
import { follow } from "../feed.js";
import { keepTicking } from "../tick.js";
import { titled } from "../title.js";
import { refused } from "../toast.js";
import { perform } from "../perform_action.js";

const SURE_MS = 20_000;
const SORTS = { waiting: "priority", running: "created" };

/** Draws it and keeps it current until `signal` is aborted. */
export async function show(root, { query }, signal) {
  titled("");
  const board = new Board(root, readFilters(query), signal);
  await board.begin();
}

class Board {
  #actions = new Actions();
  #filters;
  #signal;
  #queue;
  #totals;
  #line;
  #needs = new NeedsYou((verb, row) => this.#answer(verb, row));
  #problems = new Problems();
  #limits = new Limits();
  #forecast = new ForecastLine();
  #below = h("div", { class: "below" });
  #piles = {};
  #shown = null;
  #looking = null;

  constructor(root, filters, signal) {
    this.#filters = filters;
    this.#signal = signal;
    this.#queue = new Queue(signal);
    this.#totals = new Totals(signal);
    this.#line = filterLine(filters, () => this.#look(), signal);
    const empty = welcome(signal);
    const head = h("div", { class: "board-head" }, this.#totals.node, this.#line.node);
    const title = h("h1", { class: "hidden-text" }, "Board");
    replace(root, h("div", { class: "board" }, title, head, this.#forecast.node, this.#limits.node, this.#problems.node, empty, this.#needs.node, this.#below));
    keepTicking(root, signal);
  }

  /** Loads everything and follows the feed. */
  async begin() {
    this.#refreshCost();
    this.#refreshLimits();
    this.#refreshForecast();
    this.#problems.refreshSoon(this.#signal);
    follow((event) => this.#receive(event), this.#signal);
    boardKeys({ ...this.#hands(), search: this.#line.search, signal: this.#signal });
    this.#makeSure();
    await this.#look();
    await this.#actions.recall(this.#piles.needs_you.position, this.#signal).catch(refused);
    for (const list of this.#shown.lists) list.redraw();
  }

  #hands() {
    return { sections: () => this.#sections(), answer: (verb, row) => this.#answer(verb, row) };
  }

  /** A tab that becomes visible, or is open for hours, reloads. */
  #makeSure() {
    document.addEventListener("visibilitychange", () => document.hidden || this.#refreshAll(), { signal: this.#signal });
    const timer = setInterval(() => this.#refreshAll(), SURE_MS);
    this.#signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  }

  /** Reloads with the current filters; the old content stays until the responses arrive. */
  async #look() {
    this.#looking?.abort();
    this.#looking = new AbortController();
    const { signal } = this.#looking;
    this.#signal.addEventListener("abort", () => this.#looking.abort(), { signal });
    const { view, sort, ...asked } = this.#filters;
    const groups = view === "list" ? ["needs_you", "all"] : GROUP_NAMES;
    this.#piles = Object.fromEntries(groups.map((group) => [group, this.#pile(group, asked, sort, signal)]));
    this.#shown = view === "list" ? this.#table(sort, signal) : this.#columns(signal);
    if (!this.#below.firstChild) replace(this.#below, this.#shown.node);
    await Promise.all(Object.values(this.#piles).map((pile) => pile.refresh()));
    if (signal.aborted) return;
    const sorted = this.#below.querySelector(".table-head :focus");
    replace(this.#below, this.#shown.node);
    if (sorted) this.#shown.node.querySelector("[aria-sort] button")?.focus({ preventScroll: true });
    for (const list of this.#shown.lists) list.plan();
  }

  #pile(group, asked, sort, signal) {
    const order = group === "all" ? sort : (SORTS[group] ?? "updated");
    const wanted = group === "all" ? asked : { ...asked, group };
    return new Pile({ ...wanted, sort: order }, (pile) => this.#draw(group, pile), signal);
  }

  #columns(signal) {
    const narrowed = areNarrow(this.#filters);
    const retry = (row) => this.#answer("retry", row);
    return new Columns({ piles: this.#piles, actions: this.#actions, limits: this.#limits, retry, narrowed, signal });
  }

  #table(sort, signal) {
    return new TaskTable(this.#piles.all, sort, (key) => this.#line.take({ sort: key }), signal);
  }

  #draw(group, pile) {
    if (group === "needs_you") this.#needs.draw(pile);
    else if (group === "all") this.#shown?.draw(pile);
    else if (group in COLUMNS) this.#shown?.draw(group, pile);
  }

  #refreshAll() {
    for (const group of Object.keys(this.#piles)) this.#refresh(group);
    this.#refreshCost();
    this.#refreshLimits();
    this.#refreshForecast();
    this.#queue.add("problems", () => this.#problems.refresh(this.#signal));
  }

  #refreshCost() {
    this.#queue.add("cost", () => this.#totals.refresh(this.#signal));
  }

  #refreshLimits() {
    this.#queue.add("limits", async () => {
      const before = this.#limits.hold;
      await this.#limits.refresh(this.#signal);
      if (this.#limits.hold !== before) for (const list of this.#shown?.lists ?? []) list.redraw();
    });
  }

  #refreshForecast() {
    this.#queue.add("forecast", () => this.#forecast.refresh(this.#signal));
  }

  #refresh(group) {
    this.#queue.add(group, () => this.#piles[group]?.refresh());
  }

  #receive(event) {
    this.#actions.take(event);
    const group = groupAfter(event);
    for (const [name, pile] of Object.entries(this.#piles)) {
      if (group && name !== group && name !== "all") pile.leave(event.task_id, event.seq);
      else pile.patch(event.task_id, (row) => moved(row, event));
    }
    this.#ask(groupsToAsk(event));
    if (event.type === "attempt_ended") this.#refreshCost();
    if (["attempt_ended", "provider_unavailable", "model_recovered"].includes(event.type)) this.#refreshLimits();
    if (event.type === "task_created" || event.type === "task_completed") this.#refreshForecast();
    if (event.type === "task_created") this.#problems.refreshSoon(this.#signal);
  }

  #ask(groups) {
    if (groups.length && this.#piles.all) this.#refresh("all");
    for (const group of groups) if (group in this.#piles) this.#refresh(group);
  }

  async #answer(verb, row) {
    if (await perform(verb, row)) this.#refreshAll();
  }

  #sections() {
    return [this.#needs, ...(this.#shown?.lists ?? [])].filter((section) => section.rows.length);
  }
}
