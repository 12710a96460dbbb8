/** The board: tasks that need a person, running, waiting and completed tasks, and the cost. */

import { Actions } from "../board/actions.js";
import { openOnClick } from "../board/card_click.js";
import { COLUMNS, Columns } from "../board/columns.js";
import { areNarrow, filterLine, readFilters } from "../board/filters.js";
import { ForecastLine } from "../board/forecast.js";
import { groupAfter, groupsToAsk, moved, statusAfter } from "../board/happened.js";
import { Inbox } from "../inbox/inbox.js";
import { Limits } from "../board/limits.js";
import { TaskTable } from "../board/list.js";
import { boardKeys, rememberFocus } from "../board/moves.js";
import { NeedsYou } from "../board/needs_you.js";
import { Pile } from "../board/pile.js";
import { moveFocused } from "../board/queue_moves.js";
import { Queue } from "../board/queue.js";
import { Totals } from "../board/totals.js";
import { Problems } from "../board/problems.js";
import { welcome } from "../board/welcome.js";
import { h, replace } from "../dom.js";
import { countMove } from "../counts.js";
import { follow } from "../feed.js";
import { watchServer } from "../server_state.js";
import { keepTicking } from "../tick.js";
import { titled } from "../title.js";
import { refused } from "../toast.js";
import { perform } from "../perform_action.js";
import { isHeld, watchHeld } from "../undo.js";
import { acceptWork } from "../work/accept.js";

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
  #root;
  #filters;
  #signal;
  #queue;
  #totals;
  #line;
  #needs;
  #inbox;
  #problems;
  #limits = new Limits();
  #forecast = new ForecastLine();
  #below = h("div", { class: "below" });
  #piles = {};
  #shown = null;
  #looking = null;

  constructor(root, filters, signal) {
    this.#root = root;
    this.#filters = filters;
    this.#signal = signal;
    this.#problems = new Problems(signal);
    this.#needs = new NeedsYou((verb, row) => this.#answer(verb, row), signal);
    this.#inbox = new Inbox({ changed: () => this.#needs.draw(this.#inbox), limit: 12, signal });
    this.#queue = new Queue(signal);
    this.#totals = new Totals(signal);
    this.#line = filterLine(filters, () => this.#look(), signal);
    const empty = welcome(signal);
    const head = h("div", { class: "board-head" }, this.#totals.node, this.#line.node);
    const title = h("h1", { class: "hidden-text" }, "Board");
    replace(root, h("div", { class: "board" }, title, head, this.#forecast.node, this.#limits.node, this.#problems.node, empty, this.#needs.node, this.#below));
    openOnClick(this.#below);
    openOnClick(this.#needs.node);
    keepTicking(root, signal);
  }

  /** Loads everything and follows the feed. */
  async begin() {
    this.#refreshCost();
    this.#refreshLimits();
    this.#refreshForecast();
    this.#problems.refreshSoon();
    follow((event) => this.#receive(event), this.#signal);
    boardKeys({ ...this.#hands(), search: this.#line.search, signal: this.#signal });
    watchHeld(() => this.#redraw(), this.#signal);
    this.#followServer();
    this.#makeSure();
    const restoreFocus = rememberFocus(() => this.#sections(), this.#root);
    await this.#look();
    restoreFocus();
    await this.#actions.recall(this.#inbox.position, this.#signal).catch(refused);
    this.#redraw();
  }

  #redraw() {
    this.#needs.redraw();
    for (const list of this.#shown?.lists ?? []) list.redraw();
  }

  #hands() {
    return { sections: () => this.#sections(), answer: (verb, row) => this.#answer(verb, row), move: (by) => this.#move(by), selected: () => (this.#shown instanceof Columns ? this.#shown : null) };
  }

  /** When the server is back, everything is loaded again. */
  #followServer() {
    let wasGone = false;
    watchServer(({ gone }) => {
      if (wasGone && !gone) this.#refreshAll();
      wasGone = gone;
      this.#redraw();
    }, this.#signal);
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
    const groups = view === "list" ? ["all"] : Object.keys(COLUMNS);
    this.#piles = Object.fromEntries(groups.map((group) => [group, this.#pile(group, asked, sort, signal)]));
    this.#shown = view === "list" ? this.#table(sort, signal) : this.#columns(signal);
    if (!this.#below.firstChild) replace(this.#below, this.#shown.node);
    await Promise.all([this.#inbox.select(asked).catch(refused), ...Object.values(this.#piles).map((pile) => pile.refresh())]);
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
    const answer = (verb, row) => this.#answer(verb, row);
    return new Columns({ piles: this.#piles, actions: this.#actions, limits: this.#limits, forecast: this.#forecast, answer, acceptAll: (verb, rows) => this.#acceptAll(verb, rows), narrowed, signal });
  }

  #table(sort, signal) {
    return new TaskTable(this.#piles.all, sort, (key) => this.#line.take({ sort: key }), signal);
  }

  #draw(group, pile) {
    if (group === "all") this.#shown?.draw(pile);
    else if (group in COLUMNS) this.#shown?.draw(group, pile);
  }

  #refreshAll() {
    for (const group of Object.keys(this.#piles)) this.#refresh(group);
    this.#refreshInbox();
    this.#refreshCost();
    this.#refreshLimits();
    this.#refreshForecast();
  }

  #refreshCost() {
    this.#queue.add("cost", () => this.#totals.refresh(this.#signal));
  }

  #refreshLimits() {
    this.#queue.add("limits", async () => {
      const before = this.#limits.hold;
      await this.#limits.refresh(this.#signal);
      if (this.#limits.hold !== before) this.#redraw();
    });
  }

  #refreshForecast() {
    this.#queue.add("forecast", async () => {
      await this.#forecast.refresh(this.#signal);
      this.#redraw();
    });
  }

  #refreshInbox() {
    this.#queue.add("inbox", () => this.#inbox.refresh());
  }

  #refresh(group) {
    this.#queue.add(group, () => this.#piles[group]?.refresh());
  }

  #receive(event) {
    this.#actions.take(event);
    const group = groupAfter(event);
    for (const [name, pile] of Object.entries(this.#piles)) {
      if (group && name !== group && name !== "all") this.#leave(name, group, event);
      else pile.patch(event.task_id, (row) => moved(row, event));
    }
    if (this.#inbox.receive(event)) this.#refreshInbox();
    this.#ask(groupsToAsk(event));
    if (event.type === "attempt_ended") this.#refreshCost();
    if (["attempt_ended", "provider_unavailable", "model_recovered"].includes(event.type)) this.#refreshLimits();
    if (["task_created", "task_completed", "task_edited"].includes(event.type)) this.#refreshForecast();
    if (event.type === "task_created") this.#problems.refreshSoon();
  }

  /** A task that leaves a column is shown in its new one at once, so that it is not lost if the server ends now. */
  #leave(from, group, event) {
    const row = this.#piles[from].leave(event.task_id, event.seq);
    if (!row) return;
    countMove(from, group);
    this.#piles[group]?.adopt({ ...row, group, status: statusAfter(event), asks: null, activity: "" });
  }

  #ask(groups) {
    if (groups.length && this.#piles.all) this.#refresh("all");
    for (const group of groups) if (group in this.#piles) this.#refresh(group);
  }

  async #acceptAll(verb, rows) {
    if (await acceptWork(rows, verb)) this.#refreshAll();
  }

  #move(by) {
    const list = this.#shown?.parts?.get("waiting").list;
    return Boolean(list) && moveFocused(list, this.#piles.waiting, by);
  }

  async #answer(verb, row) {
    if (!isHeld(row.id) && (await perform(verb, row))) this.#refreshAll();
  }

  #sections() {
    return [...this.#needs.lists, ...(this.#shown?.lists ?? [])].filter((section) => section.rows.length);
  }
}
