/** The review of a task's work: files, changes, and the rail with the decision. */

import { get, taskPath } from "../api.js";
import { h, replace } from "../dom.js";
import { follow } from "../feed.js";
import { mountChanges } from "../review/changes.js";
import { Comments } from "../review/comments.js";
import { DecisionBar } from "../review/decision.js";
import { ReviewHead } from "../review/head.js";
import { bindKeys } from "../review/keys.js";
import { Notices } from "../review/notice.js";
import { Rail } from "../review/rail.js";
import { ReviewState } from "../review/state.js";
import { FileTree } from "../review/tree.js";
import { titled } from "../title.js";

const QUIET_MS = 1000;

/** Shows the review of the task that `params.id` names, until `signal` is aborted. */
export async function show(root, params, signal) {
  const state = await ReviewState.load(params.id, signal);
  titled(`Review ${state.doc.title || state.task}`);
  const page = new ReviewPage(state, signal);
  replace(root, page.node);
  await page.begin();
}

class ReviewPage {
  constructor(state, signal) {
    Object.assign(this, { state, signal });
    this.comments = new Comments(state);
    this.notices = new Notices();
    this.head = new ReviewHead(state);
    this.decision = new DecisionBar(state, { problem: (error) => this.#problem(error), focusWhole: () => this.#focusWhole() });
    this.rail = new Rail(state, this.comments, this.decision);
    this.tree = new FileTree({ go: (path) => this.#goToFile(path), signal });
    this.work = h("section", { class: "review-work", "aria-label": "Changes" });
    this.railButton = h("button", { class: "btn quiet rail-open", type: "button", "aria-label": "Gates, summary and comments", "aria-expanded": "false", on: { click: () => this.#toggleRail() } }, h("span", { "aria-hidden": "true" }, "▲"));
    this.decision.node.prepend(this.railButton);
    this.shade = h("div", { class: "review-shade", on: { click: () => this.escape() } });
    this.node = h("div", { class: "review" }, this.head.node, this.notices.node,
      h("div", { class: "review-body" }, this.tree.node, this.work, this.shade, this.rail.node));
  }

  async begin() {
    const { state, signal } = this;
    state.watch(() => this.#drawSides());
    state.stale = (doc) => this.#offerReload(whatHappened(doc));
    state.keeper.problem = (error) => this.#problem(error);
    this.changes = await mountChanges(this.work, { task: state.task, signal, review: this.comments, changed: () => this.#changesChanged() });
    this.filesButton = h("button", { class: "btn files-open", type: "button", "aria-expanded": "false", on: { click: () => this.#toggleTree() } });
    this.changes.leading.append(this.filesButton);
    this.changes.cursor.moved = () => this.#markVisible();
    this.changes.scroller.addEventListener("scroll", () => this.#markVisible(), { signal, passive: true });
    this.#changesChanged();
    this.rail.draw();
    bindKeys(this);
    this.#watchWork();
  }

  /** Writes a comment on the selected lines. */
  comment() {
    const { cursor } = this.changes;
    const { place } = cursor;
    if (!place) return false;
    this.comments.write(cursor.file, place.side, place.line, place.end);
    return true;
  }

  expand() {
    const { cursor } = this.changes;
    if (!cursor.file) return;
    if (cursor.index < 0) cursor.file.fold(!cursor.file.isFolded);
    else cursor.node?.querySelector(".gap-all")?.click();
  }

  toggleViewed() {
    const { cursor } = this.changes;
    const file = cursor.file ?? this.#visibleFile();
    if (!file) return;
    file.nodeAt(-1);
    this.changes.setViewed(file, !this.changes.isViewed(file.data));
    cursor.put(file, -1);
  }

  escape() {
    this.node.removeAttribute("data-tree");
    this.node.removeAttribute("data-rail");
    this.filesButton?.setAttribute("aria-expanded", "false");
    this.railButton.setAttribute("aria-expanded", "false");
    if (document.activeElement === this.rail.whole) this.changes?.scroller.focus({ preventScroll: true });
    if (this.changes?.find.isOpen) this.changes.find.close();
    this.changes?.cursor.file?.pick(null);
  }

  #changesChanged() {
    if (!this.changes) return;
    this.node.dataset.layout = this.changes.layout;
    this.tree.update(this.changes);
    replace(this.filesButton, `Files ${this.tree.viewedText}`);
    this.#markVisible();
  }

  #drawSides() {
    this.head.draw();
    this.rail.draw();
  }

  /** The tree marks the file that the keyboard went to, or the one at the top of the visible area. */
  #markVisible() {
    this.marking ??= requestAnimationFrame(() => {
      this.marking = null;
      const file = this.changes.cursor.latest ?? this.#visibleFile();
      if (file) this.tree.mark(file.data.path);
    });
  }

  #visibleFile() {
    const top = this.changes.top() + 1;
    return this.changes.files.find((file) => file.node.getBoundingClientRect().bottom > top);
  }

  #goToFile(path) {
    this.escape();
    this.changes.goTo(path);
  }

  #toggleTree() {
    const isOpen = this.node.toggleAttribute("data-tree");
    this.filesButton.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) this.tree.filter.focus();
  }

  #toggleRail() {
    const isOpen = this.node.toggleAttribute("data-rail");
    this.railButton.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) this.rail.scroll.focus();
  }

  #focusWhole() {
    this.node.toggleAttribute("data-rail", true);
    this.rail.whole.focus();
    this.rail.whole.placeholder = "What should be different? Ctrl ↵ sends it back.";
  }

  /** Asks the server again after events of this task, at most once a second. */
  #watchWork() {
    let timer = 0;
    const ask = () => this.#compare().catch(() => {});
    follow((event) => {
      if (event.task_id !== this.state.task) return;
      clearTimeout(timer);
      timer = setTimeout(ask, QUIET_MS);
    }, this.signal);
  }

  /** A commit that this page does not show is offered, never swapped in while somebody reads. */
  async #compare() {
    const now = await get(taskPath(this.state.task, "review"), {}, this.signal);
    if (!this.state.isStale(now) && now.status === this.state.doc.status) return;
    this.state.take(now);
    this.#drawSides();
  }

  #offerReload(text) {
    const kept = this.state.written.length ? " Your drafts are kept." : "";
    this.notices.show("stale", `${text}${kept}`, { action: { text: "Show the current work", run: () => this.#reload() } });
  }

  async #reload() {
    this.notices.hide("stale");
    await this.state.keeper.settle().catch(() => {});
    await this.state.reload();
    await this.changes.load(0);
    this.#drawSides();
  }

  #problem(error) {
    if (error === null) return this.notices.hide("server");
    if (error.name === "AbortError") return undefined;
    if (error.status === 409) return this.#offerReload(sentence(error.message.replace(this.state.task, "the task")));
    const text = error.status === 0 ? "The server does not answer. What you write is kept in this browser and is saved when the server is back." : sentence([error.message, error.hint].filter(Boolean).join(": "));
    return this.notices.show("server", text, { tone: error.status === 0 ? "warn" : "bad" });
  }
}

/** Work that was published meanwhile, or that changed. */
function whatHappened({ status, can }) {
  const isPublished = status === "completed" && !can.approve.allowed;
  return isPublished ? sentence(can.approve.reason) : "The work has changed since this page was opened.";
}

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;
