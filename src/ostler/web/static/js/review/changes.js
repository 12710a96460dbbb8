/** The changes of a task: the files below each other, unified or side by side. */

import { get, taskPath } from "../api.js";
import { h, replace } from "../dom.js";
import { plural } from "../format.js";
import { notify, refused } from "../toast.js";
import { Cursor } from "./cursor.js";
import { splitPatch } from "./diff/patch.js";
import { Texts } from "./diff/texts.js";
import { FileView } from "./file/view.js";
import { Find } from "./find.js";
import { byFolder } from "./folders.js";
import { Lazy } from "./lazy.js";
import { choice, counts } from "./parts.js";
import { watchPicks } from "./picker.js";

const LAYOUT = "ostler.review.layout";
const NARROW = matchMedia("(max-width: 760px)");

/**
 * Shows the changes of `task` in `root` until `signal` is aborted. `review` (ReviewCards) adds comments and viewed marks;
 * without it the changes are only shown. Resolves to the ChangesView.
 */
export async function mountChanges(root, { task, signal, review = null, changed = () => {} }) {
  const view = new ChangesView({ task, signal, review, changed });
  replace(root, view.node);
  await view.load(0);
  return view;
}

/** The layout that was chosen, if the window has room for it. */
const fittingLayout = () => (NARROW.matches ? "unified" : (localStorage.getItem(LAYOUT) ?? "unified"));

/** The list of files; `files` are its FileViews, `data` is ostler.changes/1. */
export class ChangesView {
  constructor({ task, signal, review, changed }) {
    Object.assign(this, { task, signal, review, changed, files: [], data: null, since: 0, parts: new Map() });
    this.layout = fittingLayout();
    NARROW.addEventListener("change", () => this.#applyLayout(fittingLayout()), { signal });
    this.texts = new Texts(task, signal);
    this.failed = (error) => refused(error);
    this.notify = notify;
    this.list = h("div", { class: "file-list-diff" });
    this.scroller = h("div", { class: "changes-scroll", tabindex: "-1" }, this.list);
    this.cursor = new Cursor(this);
    this.find = new Find(this);
    this.bar = this.#makeBar();
    this.node = h("div", { class: "changes", data: { layout: this.layout } }, this.bar, this.find.node, this.scroller);
    if (review) {
      review.attach(this);
      watchPicks(this, signal);
    }
  }

  /** Loads all changes, or those since review number `since`. */
  async load(since) {
    const query = { since: since || "" };
    const ask = (part, more) => get(taskPath(this.task, part), { ...query, ...more }, this.signal);
    const askBoth = async () => {
      const listed = await ask("changes");
      return [listed, await ask("patch", { head: listed.head })];
    };
    const [data, { patch }] = await askBoth().catch(nothing);
    Object.assign(this, { data, since, parts: splitPatch(patch) });
    this.#draw();
  }

  /** The part of the patch that a file has; a promise if the patch of all files was too long. */
  partOf(path) {
    const known = this.parts.get(path);
    if (known !== undefined) return known;
    const file = this.data.files.find((one) => one.path === path);
    if (file.additions + file.deletions === 0) return "";
    const loading = get(taskPath(this.task, "patch"), { since: this.since || "", head: this.data.head, path }, this.signal).then(({ patch }) => patch);
    this.parts.set(path, loading);
    loading.then((part) => this.parts.set(path, part), () => this.parts.delete(path));
    return loading;
  }

  fileOf(path) {
    return this.files.find((file) => file.data.path === path) ?? this.files.find((file) => file.data.old_path === path);
  }

  isViewed(file) {
    return this.review?.isViewed(file.path, file.new_blob || file.old_blob) ?? false;
  }

  setViewed(file, viewed) {
    this.review.setViewed(file.data.path, file.data.new_blob || file.data.old_blob, viewed);
    file.fold(viewed);
    file.header.update();
    this.changed();
  }

  /** Stores the choice of the person; two sides have no room in a narrow window. */
  setLayout(layout) {
    if (NARROW.matches) return;
    localStorage.setItem(LAYOUT, layout);
    this.#applyLayout(layout);
  }

  #applyLayout(layout) {
    if (layout === this.layout) return;
    this.layout = layout;
    this.node.dataset.layout = layout;
    this.layoutChoice.press(layout);
    const file = this.files.find((one) => one.node.getBoundingClientRect().bottom > this.top());
    const place = () => file?.node.getBoundingClientRect().top ?? 0;
    const before = place();
    for (const one of this.files) one.redraw();
    if (before <= this.top() && file) file.node.scrollIntoView({ block: "start" });
    this.changed();
  }

  /** The first visible pixel. */
  top() {
    return Math.max(0, this.scroller.getBoundingClientRect().top);
  }

  /** Characters that a line has room for in a layout. */
  columns(shape) {
    const width = this.scroller.clientWidth || 800;
    const pixels = shape === "split" ? width / 2 - 76 : width - (shape === "two" ? 150 : 90);
    return Math.max(20, Math.floor(pixels / 7.3));
  }

  /** Scrolls to a line, or to the beginning of a file; shows the file if it is folded. */
  async goTo(path, side = "new", line = 0) {
    const file = this.fileOf(path);
    if (!file) return false;
    await file.ready();
    file.fold(false);
    if (line && file.data.kind === "image") file.render(false);
    this.lazy.build(file.node);
    const index = line ? (file.body?.indexOf?.(side === "old" ? "old" : "new", line) ?? -1) : -1;
    this.cursor.put(file, index, { block: index < 0 ? "start" : "center" });
    return true;
  }

  /** Runs a change below `node` while what is at the top of the visible area stays there. */
  keepPlace(node, change) {
    const top = this.top();
    const seen = [...node.querySelectorAll(".code-line")].find((one) => one.getBoundingClientRect().top >= top);
    const cell = seen?.querySelector(".code-num[data-line]");
    const before = seen?.getBoundingClientRect().top;
    change();
    if (!cell) return;
    const same = node.querySelector(`.code-num[data-side="${cell.dataset.side}"][data-line="${cell.dataset.line}"]`);
    if (same) this.scroller.scrollTop += same.getBoundingClientRect().top - before;
  }

  /** Draws the comments of a file again. */
  drawComments(path) {
    this.fileOf(path)?.drawComments();
    this.changed();
  }

  #draw() {
    this.stop?.abort();
    this.stop = new AbortController();
    const signal = AbortSignal.any([this.signal, this.stop.signal]);
    this.lazy = new Lazy(scrollParent(this.scroller), signal);
    const ordered = [...byFolder(this.data.files, ({ path }) => path).values()].flat();
    this.files = ordered.map((file) => new FileView(this, file));
    this.cursor.clear();
    this.#drawSince();
    replace(this.summary, plural(this.files.length, "file"), " ", counts(this.data.additions, this.data.deletions));
    const notes = noteTexts(this.data).map((text) => h("p", { class: "changes-note" }, text));
    const empty = !this.files.length && !this.data.note && h("p", { class: "empty" }, this.since ? `Nothing changed since review ${this.since}.` : "There are no changes.");
    replace(this.list, notes, this.files.map((file) => file.node), empty);
    this.scroller.scrollTop = 0;
    this.#buildFirst();
    this.changed();
    performance.mark("changes-shown");
  }

  /** All changes, or those since the last review; the number of reviews grows while the page is open. */
  #drawSince() {
    const last = this.review?.lastReview ?? 0;
    const options = [[0, "All changes"], [last, "Since my review"]];
    replace(this.sincePart, last > 0 && choice("Which changes", options, this.since, (since) => this.load(since).catch(this.failed)).node);
  }

  /** What is visible at once does not wait for the observer. */
  #buildFirst() {
    const bottom = this.top() + (this.scroller.clientHeight || innerHeight);
    for (const { node } of this.files) {
      if (node.getBoundingClientRect().top > bottom) break;
      this.lazy.build(node);
    }
  }

  #makeBar() {
    this.sincePart = h("span", { class: "bar-since" });
    this.layoutChoice = choice("Layout", [["unified", "Unified"], ["split", "Split"]], this.layout, (layout) => this.setLayout(layout));
    this.layoutChoice.node.classList.add("layout-choice");
    this.summary = h("span", { class: "changes-summary muted" });
    this.leading = h("span", { class: "bar-leading" });
    const find = h("button", { class: "btn quiet find-open", type: "button", title: "Find in the changes (/)", on: { click: () => this.find.open() } }, "Find", h("kbd", {}, "/"));
    return h("div", { class: "changes-bar" }, this.leading, this.sincePart, this.summary, h("span", { class: "grow" }), find, this.layoutChoice.node);
  }
}

/** Work that cannot be shown, such as of a task that has not been started, is explained; the rest of the page stays usable. */
function nothing(error) {
  if (error.name === "AbortError" || ![404, 409].includes(error.status)) throw error;
  const note = `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`;
  return [{ base: null, note, files: [], additions: 0, deletions: 0 }, { patch: "" }];
}

function noteTexts({ note, conflict, truncated, uncommitted, files }) {
  return [
    note,
    conflict && "The target branch changed the same lines since that review: the left side has conflict marks.",
    truncated && "There are more files than this page shows; ostler diff prints all of them.",
    uncommitted && files.length > 0 && "These changes are not committed yet.",
  ].filter(Boolean);
}

/** The nearest element that scrolls; null: the page itself. */
function scrollParent(node) {
  for (let one = node; one && one !== document.body; one = one.parentElement) {
    if (["auto", "scroll"].includes(getComputedStyle(one).overflowY)) return one;
  }
  return null;
}
