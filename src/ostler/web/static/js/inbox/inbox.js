/** The tasks that wait for a person (ostler.inbox/1), by kind, loaded page by page. */

import { get } from "../api.js";
import { groupAfter } from "../board/happened.js";
import { KINDS } from "./kinds.js";

const GONE = ["running", "waiting", "done"];

/** Loads a page; in the inbox of all projects, the id of a task has its project. */
export async function askInbox(query, signal) {
  const page = await get("/inbox", query, signal);
  return { ...page, items: page.items.map((item) => (item.project ? { ...item, id: `${item.project}/${item.id}` } : item)) };
}

/** `changed()` is called when the items change; `limit` items of each kind are loaded at first. */
export class Inbox {
  items = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, []]));
  counts = { question: 0, review: 0, failed: 0, paused: 0 };
  next = {};
  position = 0;
  known = false;
  #query = {};
  #changed;
  #limit;
  #signal;
  #left = new Map();

  constructor({ changed, limit, signal }) {
    this.#changed = changed;
    this.#limit = limit;
    this.#signal = signal;
  }

  /** How many tasks wait for a person. */
  get total() {
    return Object.keys(KINDS).reduce((sum, kind) => sum + this.counts[kind], 0);
  }

  /** Loads the tasks that match: text, status, priority, pipeline; an older response is not shown. */
  select({ q, status, priority, pipeline }) {
    this.#query = { q, status, priority, pipeline };
    return this.refresh();
  }

  /** Reloads as many items of each kind as are shown. */
  async refresh() {
    const shown = Math.max(...Object.values(this.items).map((items) => items.length), this.#limit);
    const asked = this.#query;
    const page = await this.#ask({ limit: Math.min(shown, 200) });
    if (asked !== this.#query) return;
    for (const kind of Object.keys(KINDS)) this.items[kind] = this.#still(page).filter((item) => item.kind === kind);
    this.next = page.next;
    this.#took(page);
  }

  /** Loads the next items of a kind. */
  async more(kind) {
    if (!this.next[kind]) return;
    const asked = this.#query;
    const page = await this.#ask({ kind, after: this.next[kind], limit: this.#limit });
    if (asked !== this.#query) return;
    const had = new Set(this.items[kind].map(({ id }) => id));
    this.items[kind] = [...this.items[kind], ...this.#still(page).filter(({ id }) => !had.has(id))];
    this.next = { ...this.next, [kind]: page.next[kind] };
    this.#took(page);
  }

  /** Applies an event: a task that left is removed at once. Returns whether the items have to be reloaded. */
  receive(event) {
    const group = groupAfter(event);
    if (GONE.includes(group)) this.#leave(event.task_id, event.seq);
    return group !== null || ["decision_recorded", "task_archived", "task_edited", "task_removed"].includes(event.type);
  }

  #leave(id, seq) {
    this.#left.set(id, seq);
    const kind = Object.keys(KINDS).find((each) => this.items[each].some((item) => item.id === id));
    if (!kind) return;
    this.items[kind] = this.items[kind].filter((item) => item.id !== id);
    this.counts = { ...this.counts, [kind]: this.counts[kind] - 1 };
    this.#changed();
  }

  /** A response from before a task left does not add it again. */
  #still({ items, position }) {
    for (const [id, seq] of this.#left) if (seq <= position) this.#left.delete(id);
    return items.filter(({ id }) => !this.#left.has(id));
  }

  #ask(query) {
    return askInbox({ ...this.#query, ...query }, this.#signal);
  }

  #took({ counts, position }) {
    Object.assign(this, { counts, position, known: true });
    this.#changed();
  }
}
