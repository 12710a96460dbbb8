/** The inbox: what waits for the person, the most urgent first, with everything that a decision needs. */

import { openOnClick } from "../board/card_click.js";
import { here, openMenu, press, rememberFocus, step } from "../board/moves.js";
import { setText } from "../board/parts.js";
import { Queue } from "../board/queue.js";
import { watchCounts } from "../counts.js";
import { h, replace } from "../dom.js";
import { follow } from "../feed.js";
import { plural } from "../format.js";
import { decideAll } from "../inbox/batch.js";
import { inboxFilters } from "../inbox/filters.js";
import { fullCard } from "../inbox/full_card.js";
import { Inbox } from "../inbox/inbox.js";
import { KINDS } from "../inbox/kinds.js";
import { PausedTasks } from "../inbox/paused.js";
import { CardSection } from "../inbox/section.js";
import { DECISIONS, Selection } from "../inbox/selection.js";
import { bind } from "../keys.js";
import { perform, performReply } from "../perform_action.js";
import { keepTicking } from "../tick.js";
import { refused } from "../toast.js";
import { isHeld, watchHeld } from "../undo.js";

const GROUP = "Inbox";
const PAGE = 20;

/** Draws it and keeps it current until `signal` is aborted. */
export function show(root, { query }, signal) {
  return showInbox(root, { query, signal, keepCurrent: followFeed, back: "Go to the board", ofProject: true });
}

/**
 * `keepCurrent(inbox, refresh, signal)` refreshes it when something changes; `back` is the text of the link to the first page. The inbox
 * of one project has its filters and views (`ofProject`).
 */
export async function showInbox(root, { query, signal, keepCurrent, back, ofProject = false }) {
  const page = new InboxPage({ query, signal, keepCurrent, back, ofProject });
  replace(root, page.node);
  openOnClick(page.node);
  keepTicking(root, signal);
  await page.begin();
}

function followFeed(inbox, refresh, signal) {
  follow((event) => inbox.receive(event) && refresh(), signal);
}

class InboxPage {
  #signal;
  #keepCurrent;
  #back;
  #queue;
  #inbox;
  #parts = new Map();
  #selection = new Selection({
    actions: DECISIONS,
    items: () => Object.keys(KINDS).flatMap((kind) => this.#inbox.items[kind]),
    changed: () => this.#redraw(),
    act: (verb, items) => this.#actOnAll(verb, items),
  });
  #paused;
  #line;
  #others = { running: 0, waiting: 0 };
  #count = h("span", { class: "muted num", "aria-live": "polite" });
  #empty = h("section", { class: "card stack inbox-empty", hidden: true });

  constructor({ query, signal, keepCurrent, back, ofProject }) {
    this.#signal = signal;
    this.#keepCurrent = keepCurrent;
    this.#back = back;
    this.#queue = new Queue(signal);
    this.#inbox = new Inbox({ changed: () => this.#draw(), limit: PAGE, signal });
    this.#paused = new PausedTasks((item) => this.#answer("resume", item), signal);
    const sections = Object.entries(KINDS).map(([kind, { title }]) => this.#section(kind, title));
    this.#line = inboxFilters(query, { ofProject, changed: (filters) => this.#inbox.select(filters).catch(refused), signal });
    const head = h("div", { class: "row wrap inbox-head" }, h("h1", {}, "Inbox"), this.#count, h("span", { class: "grow" }), this.#line.node);
    this.node = h("div", { class: "page inbox stack" }, head, this.#selection.node, this.#empty, sections, this.#paused.node);
    watchCounts((counts) => {
      this.#others = counts;
      this.#drawEmpty();
    }, signal);
  }

  async begin() {
    this.#keepCurrent(this.#inbox, () => this.#refresh(), this.#signal);
    document.addEventListener("visibilitychange", () => document.hidden || this.#refresh(), { signal: this.#signal });
    watchHeld(() => this.#redraw(), this.#signal);
    this.#bindKeys();
    const restoreFocus = rememberFocus(() => this.#lists(), this.node);
    await this.#inbox.select(this.#line.filters);
    restoreFocus();
  }

  #bindKeys() {
    const on = (combo, description, run) => bind(combo, description, run, { group: GROUP, signal: this.#signal });
    const answer = (verb, item) => this.#answer(verb, item);
    for (const [combo, by] of [["j", 1], ["ArrowDown", 1], ["k", -1], ["ArrowUp", -1]]) {
      on(combo, by > 0 ? "Next task" : "Previous task", () => step(this.#lists(), by));
    }
    on("Enter", "Open the review or the task", () => false);
    on("a", "Approve, also all selected", () => this.#selection.press("a") || press(this.#lists(), answer, "a"));
    on("m", "Approve and merge, also all selected", () => this.#selection.press("m") || press(this.#lists(), answer, "m"));
    on("s", "Send back", () => press(this.#lists(), answer, "s"));
    on("r", "Reply, resume, retry, also all selected", () => this.#selection.press("r") || press(this.#lists(), answer, "r"));
    on(".", "Open the menu of the task", openMenu);
    on("/", "Search", () => this.#line.search.focus());
    on("x", "Select", () => this.#select(false));
    on("X", "Select from the last selected one", () => this.#select(true));
    on("Escape", "Select nothing", () => (this.#selection.size ? this.#selection.clear() : document.activeElement?.blur()));
  }

  #section(kind, title) {
    const answer = (verb, item, text) => this.#answer(verb, item, text);
    const list = new CardSection({ label: title, kind, make: (item) => fullCard(item, answer, this.#selection) });
    const count = h("span", { class: "count num muted" });
    const more = h("button", { class: "btn", type: "button", hidden: true, on: { click: () => this.#inbox.more(kind) } });
    const node = h("section", { class: "stack inbox-section", hidden: true, "aria-labelledby": `inbox-${kind}` },
      h("h2", { id: `inbox-${kind}`, class: "row" }, title, count), list.grid, more);
    this.#parts.set(kind, { node, list, count, more });
    return node;
  }

  #lists() {
    return [...this.#parts.values()].map(({ list }) => list).filter((list) => list.rows.length);
  }

  #draw() {
    const { counts, total } = this.#inbox;
    setText(this.#count, this.#inbox.known && total ? `${plural(total, "task")} ${this.#line.areNarrow ? "found" : "waiting for you"}` : "");
    for (const [kind, { node, list, count, more }] of this.#parts) {
      node.hidden = !counts[kind];
      list.draw(this.#inbox.items[kind]);
      setText(count, counts[kind].toLocaleString("en"));
      more.hidden = !this.#inbox.next[kind];
      setText(more, `Show more of ${plural(counts[kind] - list.rows.length, "other")}`);
    }
    this.#empty.hidden = !this.#inbox.known || total > 0;
    this.#drawEmpty();
    this.#paused.draw(counts.paused);
    this.#selection.draw();
  }

  #drawEmpty() {
    if (this.#line.areNarrow) return replace(this.#empty, h("h2", {}, "No matching tasks"), h("p", { class: "muted" }, "No question, review or failure matches the search and the filters."));
    const { running, waiting } = this.#others;
    const parts = [running && `${plural(running, "task")} running`, waiting && `${waiting} waiting`].filter(Boolean);
    return replace(this.#empty, h("h2", {}, "Nothing waits for you"),
      h("p", { class: "muted" }, parts.length ? `${parts.join(", ")}. Questions, reviews and failures appear here.` : "Questions, reviews and failures appear here."),
      h("div", {}, h("a", { class: "btn", href: "/" }, this.#back)));
  }

  #redraw() {
    for (const { list } of this.#parts.values()) list.redraw();
  }

  #refresh() {
    this.#queue.add("inbox", () => this.#inbox.refresh());
  }

  #select(extend) {
    const { at, index } = here(this.#lists());
    const item = this.#lists()[at]?.rows[index];
    if (item) this.#selection.toggle(item.id, extend);
  }

  /** With `text`, it is the answer; a key for an answer moves the focus into the field of the card. */
  async #answer(verb, item, text = null) {
    if (isHeld(item.id)) return;
    if (verb === "reply" && text === null && !item.conflict) return void this.#field(item)?.focus();
    const sent = text === null ? await perform(verb, item) : await performReply(item, text);
    if (sent) this.#refresh();
  }

  #field({ id }) {
    return this.#lists().map((list) => list.node(id)).find(Boolean)?.querySelector("textarea");
  }

  async #actOnAll(verb, items) {
    const decided = decideAll(verb, items);
    this.#selection.clear();
    if (await decided) this.#refresh();
  }
}
