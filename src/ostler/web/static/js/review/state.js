/** A review in progress (ostler.review/1): its comments and marks, saved on the server as they change. */

import { get, post, taskPath } from "../api.js";
import { DraftKeeper } from "./draft_keeper.js";

/** Calls its watchers with the paths whose comments changed, or null for everything. */
export class ReviewState {
  #watchers = new Set();

  constructor(task, doc, signal) {
    Object.assign(this, { task, doc, signal, drafts: new Map(), stale: () => {} });
    this.#shows(doc);
    this.keeper = new DraftKeeper(this);
    this.#takeDrafts(doc.drafts);
    for (const comment of this.keeper.recall()) this.drafts.set(comment.id, comment);
  }

  /** Loads the review of a task. */
  static async load(task, signal) {
    return new ReviewState(task, await get(taskPath(task, "review"), {}, signal), signal);
  }

  watch(watcher) {
    this.#watchers.add(watcher);
  }

  /** Loads the review again; drafts that are being written stay as they are. */
  async reload() {
    const doc = await get(taskPath(this.task, "review"), {}, this.signal);
    this.#shows(doc);
    this.take(doc);
    this.#tell(null);
  }

  /** Whether the page shows other work, or an earlier round, than the document of the server is about. */
  isStale(doc) {
    return doc.version !== this.shown.version || doc.round !== this.shown.round;
  }

  /** A newer document of the server; of one about newer work than the page shows, only the drafts are taken. */
  take(doc) {
    const before = [...this.drafts.keys()].join();
    this.isOutdated = this.isStale(doc);
    if (this.isOutdated) this.stale(doc);
    else this.doc = doc;
    this.#takeDrafts(doc.drafts);
    if (before !== [...this.drafts.keys()].join()) this.#tell(null);
  }

  /** The comments of all sent reviews, each with the number of its review; the newest review first. */
  get earlier() {
    return this.doc.reviews.toReversed().flatMap((review) => review.comments.map((comment) => ({ ...comment, review: review.number, by: review.by })));
  }

  get lastReview() {
    return this.doc.reviews.at(-1)?.number ?? 0;
  }

  /** The drafts that have a text, in the order of the files' lines. */
  get written() {
    return [...this.drafts.values()].filter((draft) => draft.text.trim() || typeof draft.suggestion === "string");
  }

  /** The draft about the whole change, if there is one. */
  get whole() {
    return [...this.drafts.values()].find((draft) => !draft.place.path) ?? null;
  }

  /** Adds a draft; it is saved when it has a text. */
  add(place, { kind = "change", text = "", suggestion = null } = {}) {
    const draft = { id: crypto.randomUUID(), kind, place, text, suggestion };
    this.drafts.set(draft.id, draft);
    if (text) this.keeper.save(draft);
    this.#tell(place.path);
    return draft;
  }

  /** Changes a draft and saves it soon. */
  change(id, fields) {
    const draft = this.drafts.get(id);
    if (!draft) return;
    const shown = `${draft.kind} ${Boolean(draft.text.trim())}`;
    Object.assign(draft, fields);
    this.keeper.save(draft);
    const isCounted = shown !== `${draft.kind} ${Boolean(draft.text.trim())}`;
    this.#tell(draft.place.path, isCounted ? "counts" : "text");
  }

  remove(id) {
    const draft = this.drafts.get(id);
    this.drafts.delete(id);
    this.keeper.remove(id);
    if (draft) this.#tell(draft.place.path);
  }

  /** Draws a comment again, such as when its editor was closed. */
  redraw(path) {
    this.#tell(path);
  }

  /** Marks a comment of an earlier review as resolved, or removes the mark. */
  async resolve(id, resolved) {
    this.take(await post(taskPath(this.task, "review", "comments", id, "resolve"), { resolved }));
    this.#tell(null);
  }

  isViewed(path, blob) {
    return this.doc.viewed.some((one) => one.path === path && one.blob === blob);
  }

  async setViewed(path, blob, viewed) {
    const others = this.doc.viewed.filter((one) => one.path !== path);
    this.doc = { ...this.doc, viewed: viewed ? [...others, { path, blob }] : others };
    this.#tell(path, "counts");
    await this.keeper.send(() => post(taskPath(this.task, "review", "viewed"), { path, blob, viewed }));
  }

  /** Sends the review. */
  async send(body, { keepalive = false } = {}) {
    const doc = await post(taskPath(this.task, "review"), { commit: this.shown.version, round: this.shown.round, ...body }, undefined, { keepalive });
    this.doc = doc;
    this.shown.round = doc.round;
    this.drafts.clear();
    this.keeper.forget();
    this.take(doc);
    this.#tell(null);
    return doc;
  }

  /** What the page shows, and a decision is about. */
  #shows({ version, round }) {
    this.shown = { version, round };
    this.isOutdated = false;
  }

  /** Drafts of the server; those that are not saved yet are newer. */
  #takeDrafts(drafts) {
    const known = new Set(drafts.map((draft) => draft.id));
    for (const id of this.drafts.keys()) if (!known.has(id) && this.keeper.wasSaved(id)) this.drafts.delete(id);
    for (const draft of drafts) {
      if (this.keeper.isPending(draft.id)) continue;
      this.keeper.saved(draft.id);
      const own = this.drafts.get(draft.id);
      if (own) Object.assign(own, draft, { text: own.isOpen ? own.text : draft.text });
      else this.drafts.set(draft.id, { ...draft });
    }
  }

  #tell(path, what = "comments") {
    for (const watcher of this.#watchers) watcher(path, what);
  }
}
