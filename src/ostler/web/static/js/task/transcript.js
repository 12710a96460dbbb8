/** The transcript of one attempt: at most a few pages of it, at any position of the file. */

import { h } from "../dom.js";
import { isFarBehind, PageWindow } from "./page_window.js";
import { ScrollPane } from "./scroll_pane.js";
import { readAnchor } from "./log_entry.js";
import { Calls, openEntry, LogList } from "./log_list.js";

const NEAR = 700;
const CLOSE_SECONDS = 0.5;

/** A scrolling pane. `on` receives moved({offset, size, atEnd}), followed(bool), grew(entries), failed(error). */
export class Transcript {
  constructor(reader, number, origin, on) {
    Object.assign(this, { reader, number, origin, on, window: new PageWindow(), calls: new Calls(), size: 0 });
    Object.assign(this, { follow: false, busy: false, dry: -1, turn: 0 });
    this.pane = new ScrollPane(`Transcript of attempt ${number}`, (how) => this.#scrolled(how));
    this.node = this.pane.node;
    this.node.addEventListener("click", (event) => this.#shareLink(event));
  }

  /** Opens at the end, and stays there if requested. */
  openTail(follow = this.follow) {
    return this.#alone(() => this.#goTail(follow));
  }

  /** Opens at an offset; with `mark` the entry there is highlighted. */
  openAt(offset, mark = true) {
    return this.#alone(() => this.#goTo(offset, mark));
  }

  /** Opens at the tool call that is nearest to a time. */
  openTime(at) {
    const known = this.window.entries;
    const here = known.length > 0 && known[0].at < at - CLOSE_SECONDS && known.at(-1).at > at + CLOSE_SECONDS;
    return this.#alone(async () => {
      if (!here) await this.#goTo(await this.reader.offsetAt(at - CLOSE_SECONDS, this.size), false);
      const call = nearest(this.window.entries, at);
      if (call) await this.#goTo(call.offset, true);
    });
  }

  /** Reads the next page; one at most, so that many lines cannot block the page. */
  async tick() {
    if (this.busy || !this.window.pages.length) return;
    await this.#alone(async () => {
      const page = await this.#readOn(this.follow ? undefined : 1);
      if (page && this.follow && isFarBehind(page)) await this.#goTail(true);
      else if (page && this.follow) this.#append(page);
      this.#notify();
    });
  }

  /** Scrolls after it became visible: a hidden pane cannot be scrolled. */
  seen() {
    if (this.follow || !this.pane.placed) this.pane.toEnd();
    this.#notify();
  }

  /** Follows the end, or keeps its position. */
  async setFollow(follow) {
    if (follow && !this.atEnd) await this.openTail(true);
    else this.#setFollow(follow);
  }

  get atEnd() {
    return this.window.next >= this.size || this.window.next === this.dry;
  }

  /** Whether the end of the log is visible. */
  get showsEnd() {
    return this.atEnd && this.pane.room.below < NEAR / 10;
  }

  get entries() {
    return this.window.entries;
  }

  /** Shows an entry in the upper part of the pane; `mark` highlights it. */
  point(node, mark = true) {
    for (const old of this.node.querySelectorAll(".is-pointed")) old.classList.remove("is-pointed");
    if (mark)
      openEntry(
        this.window.pages.map((page) => page.list),
        node,
      );
    if (mark) node.classList.add("is-pointed");
    this.pane.toNode(node);
  }

  /** The element of an entry, which for a result is that of its call; null if it has none. */
  nodeOf(entry) {
    const own = this.node.querySelector(`#a${this.number}-${entry.offset}`);
    return own ?? this.calls.rows.get(entry.id)?.node.closest(".entry") ?? null;
  }

  /** Responses to earlier requests are not shown any more. */
  close() {
    this.turn += 1;
  }

  async #goTail(follow) {
    await this.#reset(this.reader.tail());
    this.pane.toEnd();
    this.#setFollow(follow);
    await this.#fillUp();
  }

  async #goTo(offset, mark) {
    this.#setFollow(false);
    if (!this.window.holding(offset)) await this.#reset(this.reader.from(offset));
    this.#pointAt(offset, mark);
    await this.#fillUp();
    this.#pointAt(offset, mark);
  }

  /** Starts again with a page; results of earlier requests are ignored. */
  async #reset(asked) {
    const turn = (this.turn += 1);
    const page = await asked;
    if (turn !== this.turn) return;
    this.window.clear();
    this.calls = new Calls();
    this.node.replaceChildren();
    Object.assign(this, { size: page.size, dry: -1 });
    this.#append(page);
    this.#notify();
  }

  /** The page after the last one; null if another part was opened in the meantime. */
  async #readOn(limit = undefined) {
    const { turn } = this;
    const page = await this.reader.from(this.window.next, limit);
    if (turn !== this.turn) return null;
    this.size = page.size;
    this.dry = page.entries.length ? -1 : this.window.next;
    return page;
  }

  #append(page) {
    if (!page.entries.length && this.window.pages.length) return;
    const open = this.window.open;
    this.pane.kept(this.follow, () =>
      open ? this.#grow(open, page) : this.#drop(this.window.push(this.#made(page, "append"))),
    );
    this.on.grew?.(page.entries);
  }

  #grow(open, page) {
    for (const entry of page.entries) open.list.add(entry);
    open.entries.push(...page.entries);
    open.next = page.next;
  }

  #made(page, how) {
    const node = h("div", { class: "log-page" });
    const list = new LogList(node, this.number, this.origin, this.calls);
    for (const entry of page.entries) list.add(entry);
    this.node[how](node);
    return { start: page.start, next: page.next, entries: [...page.entries], node, list };
  }

  #drop(pages) {
    for (const page of pages) {
      this.calls.forget(page.entries);
      page.node.remove();
    }
  }

  #scrolled({ up, down, atEnd }) {
    if (up && !atEnd) this.#setFollow(false);
    else if (down && atEnd && this.atEnd) this.#setFollow(true);
    this.#notify();
    if (this.busy) this.again = true;
    else this.#alone(() => this.#fillUp());
  }

  /** Loads the content near the edge of the view, a page at a time. */
  async #fillUp() {
    for (let count = 0; count < 4; count += 1) {
      const { room } = this.pane;
      const below = room.below < NEAR && this.window.next < this.size;
      if (room.above < NEAR && this.window.start > 0) await this.#loadBefore();
      else if (below && !(await this.#loadAfter())) return;
      else if (!below) return;
    }
  }

  async #loadBefore() {
    const { turn } = this;
    const page = await this.reader.before(this.window.start);
    if (turn === this.turn) this.pane.kept(false, () => this.#drop(this.window.unshift(this.#made(page, "prepend"))));
  }

  async #loadAfter() {
    const page = await this.#readOn();
    if (!page?.entries.length) return false;
    this.pane.kept(false, () => this.#drop(this.window.push(this.#made(page, "append"))));
    return true;
  }

  /** One request at a time; parts scrolled to in the meantime are loaded after it. */
  async #alone(work) {
    Object.assign(this, { busy: true, again: false });
    try {
      await work();
    } catch (error) {
      this.on.failed?.(error);
    } finally {
      this.busy = false;
    }
    if (this.again) await this.#alone(() => this.#fillUp());
  }

  #setFollow(follow) {
    if (follow === this.follow) return;
    this.follow = follow;
    if (follow) this.pane.toEnd();
    this.on.followed?.(follow);
  }

  #notify() {
    const seen = this.pane.firstSeen();
    this.on.moved?.({
      offset: seen ? Number(seen.dataset.offset) : this.window.next,
      size: this.size,
      atEnd: this.atEnd,
    });
  }

  #pointAt(offset, mark) {
    const entry = this.window.entries.find((one) => one.offset >= offset && this.nodeOf(one));
    if (entry) this.point(this.nodeOf(entry), mark);
  }

  #shareLink(event) {
    const link = event.target.closest?.(".entry-time");
    if (!link || !readAnchor(link.hash)) return;
    event.preventDefault();
    history.replaceState(history.state, "", link.hash);
    this.point(link.closest(".entry"));
  }
}

function nearest(entries, at) {
  const calls = entries.filter((entry) => entry.type === "tool_used");
  const far = (entry) => Math.abs(entry.at - at);
  return calls.reduce((best, call) => (best && far(best) <= far(call) ? best : call), null);
}
