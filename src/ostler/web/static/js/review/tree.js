/** The files of a change, by folder, with viewed marks and numbers of comments. */

import { h, replace } from "../dom.js";
import { revealedName, revealName } from "../hidden.js";
import { byFolder } from "./folders.js";
import { Lazy } from "./lazy.js";
import { counts, statusLetter } from "./parts.js";

const ROWS = 40; // files that are drawn together
const FILE_HEIGHT = 28;
const FOLDER_HEIGHT = 30;

/** `go(path)` shows a file. */
export class FileTree {
  constructor({ go, signal }) {
    Object.assign(this, { go, signal, changes: null, blocks: [], stop: new AbortController() });
    this.filter = h("input", { type: "search", placeholder: "Filter files", "aria-label": "Filter files", on: { input: () => this.update() } });
    this.progress = h("span", { class: "muted num", role: "status" });
    this.bar = h("progress", { class: "tree-progress", "aria-label": "Viewed files" });
    this.sums = h("span", {});
    this.list = h("div", { class: "tree-list" });
    this.node = h("nav", { class: "review-tree", "aria-label": "Files" },
      this.filter, h("div", { class: "row tree-sums" }, this.progress, h("span", { class: "grow" }), this.sums), this.bar, this.list);
  }

  /** "3/20" */
  get viewedText() {
    return `${this.viewed}/${this.changes?.files.length ?? 0}`;
  }

  get viewed() {
    return this.changes?.files.filter((file) => this.changes.isViewed(file.data)).length ?? 0;
  }

  update(changes = this.changes) {
    this.changes = changes;
    const { files, data } = changes;
    this.progress.textContent = `${this.viewed} of ${files.length} viewed`;
    Object.assign(this.bar, { max: Math.max(1, files.length), value: this.viewed });
    replace(this.sums, counts(data.additions, data.deletions));
    const words = this.filter.value.trim().toLowerCase();
    const shown = files.filter((file) => file.data.path.toLowerCase().includes(words));
    this.#draw(shown);
  }

  /** Marks the file that is visible. */
  mark(path) {
    if (path === this.current) return;
    this.current = path;
    const block = this.blocks.find(({ groups }) => groups.some(({ files }) => files.some((file) => file.data.path === path)));
    if (block) this.lazy.build(block.node);
    for (const button of this.list.querySelectorAll(".tree-file")) this.#markOne(button);
  }

  #markOne(button) {
    if (button.dataset.path === this.current) {
      button.setAttribute("aria-current", "true");
      button.scrollIntoView({ block: "nearest" });
    } else button.removeAttribute("aria-current");
  }

  /** Rows exist only near the visible area, as there may be thousands of files. */
  #draw(files) {
    const { scrollTop } = this.list;
    this.stop.abort();
    this.stop = new AbortController();
    this.lazy = new Lazy(this.list, AbortSignal.any([this.signal, this.stop.signal]));
    this.blocks = blocksOf(files).map((groups) => ({ groups, node: h("div", {}) }));
    replace(this.list, this.blocks.map(({ node }) => node), !files.length && h("p", { class: "muted tree-empty" }, this.changes.files.length ? "No file has this name." : "No files."));
    for (const { groups, node } of this.blocks) this.lazy.watch(node, this.#part(groups, node));
    this.list.scrollTop = scrollTop;
    const box = this.list.getBoundingClientRect();
    for (const { node } of this.blocks) {
      const own = node.getBoundingClientRect();
      if (own.bottom >= box.top && own.top <= box.bottom) this.lazy.build(node);
    }
  }

  #part(groups, node) {
    return {
      build: () => replace(node, groups.map(({ folder, files, isFirst }) => [
        folder && isFirst && h("p", { class: "tree-folder cut-start", title: revealName(folder) }, h("span", { class: "name" }, revealedName(folder))),
        h("ul", {}, files.map((file) => this.#row(file))),
      ])),
      drop: () => replace(node),
      height: () => groups.reduce((sum, { folder, files, isFirst }) => sum + files.length * FILE_HEIGHT + (folder && isFirst ? FOLDER_HEIGHT : 0), 0),
    };
  }

  #row({ data }) {
    const viewed = this.changes.isViewed(data);
    const number = this.changes.review?.countIn(data.path) ?? 0;
    const button = h("button", { class: "tree-file", type: "button", title: revealName(data.path), data: { path: data.path, viewed: String(viewed) }, on: { click: () => this.go(data.path) } },
      h("span", { class: "tree-viewed", ...(viewed && { role: "img", "aria-label": "Viewed" }) }, viewed && "✓"),
      h("span", { class: "cut grow name" }, revealedName(data.path.slice(data.path.lastIndexOf("/") + 1))),
      number > 0 && h("span", { class: "comment-count", role: "img", "aria-label": `${number} comments` }, `● ${number}`),
      h("span", { class: "tree-numbers" }, counts(data.additions, data.deletions)),
      statusLetter(data.status));
    if (data.path === this.current) button.setAttribute("aria-current", "true");
    return h("li", {}, button);
  }
}

/** Lists of {folder, files, isFirst}, each with about `ROWS` files; a large folder is in several of them. */
function blocksOf(files) {
  const blocks = [];
  let room = 0;
  for (const [folder, all] of byFolder(files, ({ data }) => data.path)) {
    for (let at = 0; at < all.length;) {
      if (room <= 0) {
        blocks.push([]);
        room = ROWS;
      }
      const part = all.slice(at, at + room);
      blocks.at(-1).push({ folder, files: part, isFirst: at === 0 });
      at += part.length;
      room -= part.length;
    }
  }
  return blocks;
}
