/** Saves drafts on the server while they are written, and in the browser while the server does not answer. */

import { post, taskPath } from "../api.js";
import { keptFor } from "../place.js";

const WAIT_MS = 400;
const RETRY_MS = 2000;

/** `state` is a ReviewState. `problem(error)` is called with the error of the last attempt, null once it succeeds. */
export class DraftKeeper {
  #state;
  #key;
  #pending = new Map(); // id -> the draft to save, null to delete it
  #saved = new Set();
  #running = false;
  #timer = 0;
  problem = () => {};

  constructor(state) {
    this.#state = state;
    this.#key = keptFor(`ostler.review.${state.task}`);
    state.signal.addEventListener("abort", () => this.#flushNow(), { once: true });
    addEventListener("pagehide", () => this.#flushNow(true), { signal: state.signal });
  }

  /** Drafts that were not saved when the page was closed. */
  recall() {
    let kept = [];
    try {
      kept = JSON.parse(localStorage.getItem(this.#key) ?? "[]");
    } catch {
      localStorage.removeItem(this.#key);
    }
    for (const draft of kept) this.save(draft);
    return kept;
  }

  /** Saves a draft soon; one without a text is deleted if it was saved before. */
  save(draft) {
    const isEmpty = !draft.text.trim() && typeof draft.suggestion !== "string";
    if (!isEmpty) this.#pending.set(draft.id, draft);
    else if (this.#saved.has(draft.id)) this.#pending.set(draft.id, null);
    else this.#pending.delete(draft.id);
    this.#keep();
    this.#plan(WAIT_MS);
  }

  remove(id) {
    if (this.#saved.has(id) || this.#running) this.#pending.set(id, null);
    else this.#pending.delete(id);
    this.#keep();
    this.#plan(0);
  }

  isPending = (id) => this.#pending.has(id);
  wasSaved = (id) => this.#saved.has(id);
  saved = (id) => this.#saved.add(id);

  /** Resolves when everything is saved; rejects if the server refuses it. */
  async settle() {
    clearTimeout(this.#timer);
    while (this.#running) await new Promise((resume) => setTimeout(resume, 20));
    await this.#run();
    if (this.#pending.size) throw this.error ?? new Error("the drafts are not saved yet");
  }

  /** Sends something else whose failure is shown in the same place. */
  async send(request) {
    try {
      this.#state.take(await request());
      this.#report(null);
    } catch (error) {
      this.#report(error);
    }
  }

  /** Everything was sent with the review. */
  forget() {
    this.#pending.clear();
    this.#saved.clear();
    this.#keep();
  }

  #plan(wait) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#run(), wait);
  }

  /** Saves one draft after the other, so that an older text never replaces a newer one. */
  async #run() {
    if (this.#running) return this.#plan(WAIT_MS);
    this.#running = true;
    try {
      const error = await this.#saveAll();
      this.#report(error);
      if (error && (error.status === 0 || error.status >= 500)) this.#plan(RETRY_MS);
    } finally {
      this.#running = false;
      this.#keep();
    }
    return undefined;
  }

  /** The first error, or null; a draft that the server refuses does not hold up the others. */
  async #saveAll() {
    let first = null;
    for (const [id, draft] of [...this.#pending]) {
      try {
        await this.#saveOne(id, draft);
      } catch (error) {
        first ??= error;
        if (error.status === 0) break;
      }
    }
    return first;
  }

  async #saveOne(id, draft) {
    const sent = JSON.stringify(draft && this.#body(draft));
    const doc = await (draft ? this.#post(draft) : post(taskPath(this.#state.task, "review", "comments", id, "delete")));
    if (draft) this.#saved.add(id);
    else this.#saved.delete(id);
    if (sent === JSON.stringify(this.#pending.get(id) && this.#body(this.#pending.get(id)))) this.#pending.delete(id);
    this.#state.take(doc);
  }

  #post(draft, options) {
    return post(taskPath(this.#state.task, "review", "comments"), this.#body(draft), undefined, options);
  }

  #body({ id, kind, place, text, suggestion, commit }) {
    return { id, kind, place, text, suggestion, commit: commit || this.#state.shown.version };
  }

  /** What is not saved yet survives a reload of the page. */
  #keep() {
    const drafts = [...this.#pending.values()].filter(Boolean).map((draft) => this.#body(draft));
    try {
      if (drafts.length) localStorage.setItem(this.#key, JSON.stringify(drafts));
      else localStorage.removeItem(this.#key);
    } catch {
      // The browser has no room left; the server has everything but the last words.
    }
  }

  #flushNow(keepalive = false) {
    clearTimeout(this.#timer);
    for (const draft of this.#pending.values()) if (draft) this.#post(draft, { keepalive }).catch(() => {});
  }

  #report(error) {
    this.error = error;
    this.problem(error);
  }
}
