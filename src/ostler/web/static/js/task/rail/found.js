/** The results of a search in all transcripts of a task. */

import { get, taskPath } from "../../api.js";
import { h, replace } from "../../dom.js";
import { clock, plural } from "../../format.js";
import { refused } from "../../toast.js";
import { LEAST_LETTERS } from "../search.js";
import { verbOf } from "../tool_words.js";

const MOST_AT_ONCE = 100;

/** A view of the rail; `go(attempt, offset, text)` opens a place in the transcript. */
export class Found {
  constructor(id, { go, signal }) {
    Object.assign(this, { id, go, signal, text: "", hits: [], at: -1, asking: null });
    this.status = h("p", { class: "muted small", role: "status" });
    this.list = h("ol", { class: "place-list" });
    this.more = h("button", { class: "btn", type: "button", hidden: true, on: { click: () => this.#ask() } }, "Search on");
    this.node = h("div", { class: "rail-scroll rail-places", tabindex: "0", role: "region", "aria-label": "Results of the search" }, this.status, this.list, this.more);
  }

  /** Searches from the beginning; a text that is too short has no results. */
  search(text) {
    this.asking?.abort();
    Object.assign(this, { text, hits: [], at: -1, next: { attempt: 0, offset: 0 }, done: false });
    replace(this.list);
    this.more.hidden = true;
    if (text.length < LEAST_LETTERS) this.status.textContent = `Type at least ${LEAST_LETTERS} letters.`;
    else this.#ask();
  }

  /** Opens the next result, or the previous one. */
  step(by) {
    if (!this.hits.length) return;
    this.#open((this.at + by + this.hits.length) % this.hits.length);
  }

  /** Asks page by page until enough results are found; a page takes the server a bounded time. */
  async #ask() {
    const stop = new AbortController();
    this.asking = stop;
    const signal = AbortSignal.any([stop.signal, this.signal]);
    const wanted = this.hits.length + MOST_AT_ONCE;
    try {
      while (!this.done && this.hits.length < wanted) {
        const query = { q: this.text, attempt: this.next.attempt, offset: this.next.offset, limit: MOST_AT_ONCE };
        const page = await get(taskPath(this.id, "search"), query, signal);
        Object.assign(this, { next: page.next, done: page.done });
        this.#add(page.hits);
        this.#say(page);
      }
    } catch (error) {
      if (!stop.signal.aborted) refused(error);
    }
  }

  #say({ scanned, total }) {
    const count = this.hits.length ? plural(this.hits.length, "result") : "No results";
    const part = this.done || !total ? "" : `, ${Math.floor((scanned / total) * 100)} % searched`;
    this.status.textContent = count + part;
    this.more.hidden = this.done || this.hits.length < MOST_AT_ONCE;
  }

  #add(hits) {
    const first = this.hits.length;
    this.hits.push(...hits);
    this.list.append(...hits.map((hit, index) => this.#row(hit, first + index)));
  }

  #row(hit, index) {
    const what = hit.tool ? verbOf(hit) : WHAT[hit.type] ?? "";
    return h("li", {}, h("button", { class: "place", type: "button", on: { click: () => this.#open(index) } },
      h("span", { class: "row small muted" }, h("span", { class: "num" }, `#${hit.attempt}`), what, h("span", { class: "grow" }), hit.at && h("span", { class: "num" }, clock(hit.at))),
      h("span", { class: "place-text" }, hit.before, h("mark", {}, hit.match), hit.after)));
  }

  #open(index) {
    this.list.children[this.at]?.firstChild.removeAttribute("aria-current");
    this.at = index;
    const button = this.list.children[index].firstChild;
    button.setAttribute("aria-current", "true");
    button.scrollIntoView({ block: "nearest" });
    const { attempt, offset } = this.hits[index];
    this.go(attempt, offset, this.text);
  }
}

const WHAT = { text_received: "Text", thinking_received: "Thinking", tool_returned: "Output", attempt_ended: "End", warning_raised: "Warning" };
