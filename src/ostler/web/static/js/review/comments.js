/** Where the comments of a review are shown in the changes, and their editors. */

import { notify, refused } from "../toast.js";
import { draftCard, earlierCard } from "./card.js";
import { Editor } from "./editor.js";

/** Connects a ReviewState with a ChangesView; `mountChanges` calls attach. */
export class Comments {
  constructor(state) {
    this.state = state;
    this.editors = new Map();
    this.cards = new Map();
    state.watch((path, what) => this.#changed(path, what));
  }

  attach(changes) {
    this.changes = changes;
  }

  /** Whether the work is a document instead of commits. */
  get isDocument() {
    return this.state.doc.document;
  }

  get lastReview() {
    return this.state.lastReview;
  }

  isViewed = (path, blob) => this.state.isViewed(path, blob);
  setViewed = (path, blob, viewed) => this.state.setViewed(path, blob, viewed);

  /** The number of comments of a file that need a look. */
  countIn(path) {
    const open = this.state.earlier.filter((one) => !one.resolved && placeOf(one).path === path);
    return open.length + this.state.written.filter((one) => one.place.path === path).length;
  }

  /** The lines of a file that have comments: {side, from, to}. */
  placesIn(path) {
    return this.#of(path).map(({ place }) => ({ side: place.side, from: place.line, to: place.end_line || place.line }));
  }

  /** The cards below a line; `side` "file" has those about the whole file. */
  cardsAt(path, side, number) {
    return this.#of(path)
      .filter(({ place }) => (side === "file" ? !place.line : place.side === side && (place.end_line || place.line) === number))
      .map((one) => one.node());
  }

  /** Opens an editor for these lines. */
  write(file, side, line, end) {
    if (side === "old" && this.isDocument) return notify("Comments on a document are about its new lines.");
    if (side === "old" && this.changes.since) return notify("Removed lines are commented in All changes.");
    const place = { path: side === "old" ? file.data.old_path || file.data.path : file.data.path, side, line, end_line: end };
    const empty = [...this.editors.values()].find(({ draft }) => !draft.text.trim() && typeof draft.suggestion !== "string");
    if (empty) this.#discard(empty.draft);
    return this.edit(this.state.add(place));
  }

  /** Opens the editor of a draft. */
  edit(draft) {
    draft.isOpen = true;
    this.#editor(draft);
    this.state.redraw(draft.place.path);
    this.show(draftPlace(draft)).then(() => this.editors.get(draft.id)?.focus());
  }

  /** Scrolls to a place. */
  async show(place) {
    if (!place?.path) return;
    const { side, line, end_line: end } = place;
    const go = () => this.changes.goTo(place.path, side, end || line);
    if (await go()) return;
    if (this.changes.since) await this.changes.load(0);
    if (!(await go())) notify(`${place.path} is not among the changes that are shown.`);
  }

  /** The card of an earlier comment, also in a list of its own. */
  earlierNode(comment) {
    const { state } = this;
    return earlierCard(comment, {
      agent: state.doc.agent,
      person: state.doc.person,
      round: state.doc.round,
      resolve: (resolved) => state.resolve(comment.id, resolved).catch(refused),
      reply: () => this.#reply(comment, { kind: "question" }),
      keepOpen: () => this.#reply(comment, { kind: comment.kind, text: `Still open: ${comment.text}` }),
    });
  }

  draftNode(draft) {
    return draftCard(draft, { round: this.state.doc.round, edit: () => this.edit(draft), remove: () => this.state.remove(draft.id) });
  }

  /** A new draft at the place where the lines are now. */
  #reply(comment, fields) {
    const known = comment.now ?? (this.changes.fileOf(comment.place.path) ? { ...comment.place, line: 0, end_line: 0 } : { path: "", side: "new", line: 0, end_line: 0 });
    const draft = this.state.add({ ...known }, fields);
    if (draft.place.path) this.edit(draft);
    else notify("The lines are gone: the comment is about the whole change.");
  }

  #of(path) {
    const drafts = [...this.state.drafts.values()].map((draft) => ({ place: this.#shown(draftPlace(draft)), node: () => this.#draft(draft) }));
    const earlier = this.state.earlier.map((comment) => ({ place: this.#shown(placeOf(comment)), node: () => this.earlierNode(comment) }));
    const old = this.changes.fileOf(path)?.data.old_path;
    return [...earlier, ...drafts].filter(({ place }) => place.path && (place.path === path || (place.side === "old" && place.path === old)));
  }

  /** Since a review, the left side has other lines than the base that such a comment is about. */
  #shown(place) {
    return this.changes.since && place.side === "old" ? { ...place, line: 0, end_line: 0 } : place;
  }

  #draft(draft) {
    return draft.isOpen ? this.#editor(draft).node : this.draftNode(draft);
  }

  #editor(draft) {
    const known = this.editors.get(draft.id);
    if (known) return known;
    const editor = new Editor(draft, {
      change: (fields) => this.state.change(draft.id, fields),
      done: () => this.#close(draft),
      cancel: () => this.#cancel(editor),
      lines: () => this.#lines(draftPlace(draft)),
    });
    this.editors.set(draft.id, editor);
    return editor;
  }

  #lines({ path, line, end_line: end }) {
    const file = this.changes.fileOf(path);
    return file?.newTexts?.slice(line - 1, end) ?? file?.lines?.texts("now", line, end) ?? [];
  }

  #close(draft) {
    draft.isOpen = false;
    this.editors.delete(draft.id);
    this.changes.fileOf(draft.place.path)?.pick(null);
    this.state.redraw(draft.place.path);
    this.#focusRow(draft.place);
  }

  /** Takes the changes of this editor back; a new comment is deleted. */
  #cancel({ draft, before }) {
    if (before.text.trim() || typeof before.suggestion === "string") {
      this.state.change(draft.id, before);
      return this.#close(draft);
    }
    this.#discard(draft);
    return this.#focusRow(draft.place);
  }

  #discard(draft) {
    this.editors.delete(draft.id);
    this.changes.fileOf(draft.place.path)?.pick(null);
    this.state.remove(draft.id);
  }

  #focusRow({ path, side, line, end_line: end }) {
    const file = this.changes.fileOf(path);
    const index = file && line ? (file.body?.indexOf?.(side === "old" ? "old" : "new", end || line) ?? -1) : -1;
    if (file) this.changes.cursor.put(file, index);
  }

  #changed(path, what) {
    if (!this.changes?.data || what === "text") return;
    if (what === "counts") this.changes.fileOf(path)?.header?.update();
    else if (path === null) for (const file of this.changes.files) file.drawComments();
    else if (path) this.changes.fileOf(path)?.drawComments();
    this.changes.changed();
  }
}

/** Where a draft is shown; the server adds `now`, as the work may have changed since it was written. */
function draftPlace(draft) {
  return draft.now === undefined ? draft.place : placeOf(draft);
}

/** Where a comment of an earlier review is shown: at its lines, or at its file. */
function placeOf({ now, place }) {
  return now ?? { ...place, line: 0, end_line: 0 };
}
