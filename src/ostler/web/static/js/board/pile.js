/** The tasks of one query, loaded page by page while scrolling. */

import { get } from "../api.js";
import { countsCame } from "../counts.js";

const PAGE = 100;
const KEYS = {
  updated: (row) => [row.updated_at],
  created: (row) => [row.created_at],
  priority: (row) => [row.priority, row.queued_at ?? row.created_at],
  cost: (row) => [row.cost_usd ?? -1],
};

/** `changed(pile)` is called when its rows change. */
export class Pile {
  rows = [];
  total = 0;
  position = 0;
  error = null;
  known = false;
  #query;
  #changed;
  #signal;
  #next = null;
  #loading = false;
  #left = new Map();

  constructor(query, changed, signal) {
    this.#query = { sort: "updated", ...query, limit: PAGE };
    this.#changed = changed;
    this.#signal = signal;
  }

  get hasMore() {
    return this.#next !== null;
  }

  /** Reloads the first page; later pages stay. */
  async refresh() {
    const page = await this.#ask({});
    if (!page) return;
    const behind = this.known ? this.#behind(page) : [];
    if (!behind.length) this.#next = page.next;
    this.rows = [...this.#still(page), ...behind];
    this.#took(page);
  }

  /** Loads the next page. */
  async more() {
    if (this.#loading || this.#next === null) return;
    this.#loading = true;
    const page = await this.#ask({ after: this.#next });
    this.#loading = false;
    if (!page) return;
    const had = new Set(this.rows.map((row) => row.id));
    this.rows = [...this.rows, ...this.#still(page).filter((row) => !had.has(row.id))];
    this.#next = page.next;
    this.#took(page);
  }

  /** Removes a task that has left, by the event of this number; returns its row, or undefined. */
  leave(id, seq) {
    this.#left.set(id, seq);
    const row = this.rows.find((one) => one.id === id);
    if (!row) return undefined;
    this.rows = this.rows.filter((one) => one !== row);
    this.total -= 1;
    this.#changed(this);
    return row;
  }

  /** Shows a task above (-1) or below (1) another one, until the next response has its place. */
  place(id, other, by) {
    const row = this.rows.find((one) => one.id === id);
    const rest = this.rows.filter((one) => one !== row);
    const at = rest.findIndex((one) => one.id === other);
    if (!row || at < 0) return;
    this.rows = rest.toSpliced(by < 0 ? at : at + 1, 0, row);
    this.#changed(this);
  }

  /** Shows the row of a task that has come, on top until the next response has its place. */
  adopt(row) {
    this.#left.delete(row.id);
    if (this.rows.some(({ id }) => id === row.id)) return;
    this.rows = [row, ...this.rows];
    this.total += 1;
    this.#changed(this);
  }

  /** Changes the row of a task without a request; `change(row)` returns the new one. */
  patch(id, change) {
    const at = this.rows.findIndex((row) => row.id === id);
    if (at < 0) return;
    const row = change(this.rows[at]);
    if (row === this.rows[at]) return;
    this.rows = this.rows.with(at, row);
    this.#changed(this);
  }

  /** A response from before a task left does not add it again. */
  #still({ tasks, position }) {
    for (const [id, seq] of this.#left) if (seq <= position) this.#left.delete(id);
    return tasks.filter((row) => !this.#left.has(row.id));
  }

  #behind(page) {
    if (page.next === null || this.rows.length <= PAGE) return [];
    const fresh = new Set(page.tasks.map((row) => row.id));
    const last = page.tasks.at(-1);
    return this.rows.filter((row) => !fresh.has(row.id) && this.#isBehind(last, row));
  }

  #isBehind(last, row) {
    const key = KEYS[this.#query.sort];
    const order = compare(key(last), key(row));
    return this.#query.sort === "priority" ? order <= 0 : order >= 0;
  }

  async #ask(more) {
    try {
      return await get("/tasks", { ...this.#query, ...more }, this.#signal);
    } catch (error) {
      const isShownElsewhere = error.code === "NETWORK" && this.known; // by the banner, above the last state
      if (error.name === "AbortError" || isShownElsewhere) return null;
      this.error = error;
      this.#changed(this);
      return null;
    }
  }

  #took(page) {
    this.total = page.total;
    this.position = page.position;
    this.error = null;
    this.known = true;
    countsCame(page.counts);
    this.#changed(this);
  }
}

function compare(left, right) {
  const at = left.findIndex((value, index) => value !== right[index]);
  if (at < 0) return 0;
  return left[at] < right[at] ? -1 : 1;
}
