/** A scrolling pane that keeps its visible content in place when content is added or removed. */

import { h } from "../dom.js";

const AT_END = 40;

/** `scrolled({up, down, atEnd})` is called when the user scrolls. */
export class ScrollPane {
  constructor(label, scrolled) {
    this.node = h("div", { class: "transcript", tabindex: "0", role: "log", "aria-live": "off", "aria-label": label });
    this.placed = false;
    this.top = 0;
    this.node.addEventListener("scroll", () => this.#onScroll(scrolled), { passive: true });
  }

  /** The number of pixels above and below the visible part. */
  get room() {
    const { scrollTop, scrollHeight, clientHeight } = this.node;
    return { above: scrollTop, below: scrollHeight - clientHeight - scrollTop };
  }

  toEnd() {
    this.#place(this.node.scrollHeight);
  }

  /** Scrolls an element into the upper part of the view. */
  toNode(node) {
    this.#place(this.node.scrollTop + this.#topOf(node) - 60);
  }

  /** Changes the content: the visible part keeps its position; with `atEnd`, the end stays visible. */
  kept(atEnd, change) {
    const anchor = this.firstSeen();
    const before = anchor && this.#topOf(anchor);
    change();
    if (atEnd) this.toEnd();
    else if (anchor?.isConnected) this.#place(this.node.scrollTop + this.#topOf(anchor) - before);
  }

  /** The first visible entry, or null. */
  firstSeen() {
    const isSeen = (node) => this.#topOf(node) + node.offsetHeight > 0;
    const page = [...this.node.children].find(isSeen);
    return page ? ([...page.children].find(isSeen) ?? null) : null;
  }

  #topOf(node) {
    return node.getBoundingClientRect().top - this.node.getBoundingClientRect().top;
  }

  #place(top) {
    this.node.scrollTop = top;
    this.placed = this.node.clientHeight > 0;
    this.top = this.node.scrollTop;
  }

  #onScroll(scrolled) {
    const moved = this.node.scrollTop - this.top;
    this.top = this.node.scrollTop;
    scrolled({ up: moved < -2, down: moved > 0, atEnd: this.room.below <= AT_END });
  }
}
