/** What an agent did, as a list: edits, commands, tests, failures and questions. */

import { get, taskPath } from "../../api.js";
import { h, replace } from "../../dom.js";
import { clock } from "../../format.js";
import { refused } from "../../toast.js";
import { relativePath } from "../tool_words.js";

const MOST_ROWS = 300;
const KINDS = [["all", "All"], ["edit", "Edits"], ["command", "Commands"], ["test", "Tests"], ["failed", "Failed"], ["question", "Questions"]];
const MARKS = { edit: "±", command: "$", test: "✓", question: "?" };
const WORDS = { edit: "Edit", command: "Command", test: "Test", question: "Question" };

/** A view of the rail; `go(attempt, offset)` opens a place in the transcript. */
export class Steps {
  constructor(id, { go, signal }) {
    Object.assign(this, { id, go, signal, steps: [], failed: new Set(), next: { attempt: 0, offset: 0 }, kind: "all", shown: MOST_ROWS, busy: false });
    this.filters = h("div", { class: "step-kinds row wrap", role: "group", "aria-label": "Kind of step" });
    this.earlier = h("button", { class: "btn", type: "button", hidden: true, on: { click: () => this.#showEarlier() } }, "Show earlier steps");
    this.list = h("ol", { class: "place-list" });
    this.empty = h("p", { class: "muted", role: "status" }, "Loading…");
    this.node = h("div", { class: "rail-scroll rail-places", tabindex: "0", role: "region", "aria-label": "Steps of the agent" }, this.filters, this.empty, this.earlier, this.list);
  }

  /** Reads what is new since the last time, page by page; a page takes the server a bounded time. */
  async refresh() {
    if (this.busy) return;
    this.busy = true;
    try {
      for (let done = false; !done;) {
        const page = await get(taskPath(this.id, "steps"), this.next, this.signal);
        done = page.done || (page.next.attempt === this.next.attempt && page.next.offset === this.next.offset);
        this.next = page.next;
        this.steps.push(...page.steps);
        for (const { attempt, id } of page.failed) this.failed.add(`${attempt} ${id}`);
        if (page.steps.length || page.failed.length || done) this.#draw();
      }
    } catch (error) {
      if (error.code !== "NETWORK") refused(error);
    } finally {
      this.busy = false;
    }
  }

  #isFailed = ({ attempt, id }) => Boolean(id) && this.failed.has(`${attempt} ${id}`);

  #of(kind) {
    if (kind === "all") return this.steps;
    return this.steps.filter(kind === "failed" ? this.#isFailed : (step) => step.kind === kind);
  }

  #draw() {
    const found = this.#of(this.kind);
    const rows = found.slice(-this.shown);
    const drawn = [this.kind, rows.length, found.length, this.failed.size].join();
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const { scrollTop, scrollHeight, clientHeight } = this.node;
    const atEnd = scrollHeight - scrollTop - clientHeight < 40;
    replace(this.filters, KINDS.map(([kind, name]) => this.#filter(kind, name)));
    this.empty.hidden = found.length > 0;
    this.empty.textContent = this.kind === "all" ? "No edits, commands or questions yet." : "None.";
    this.earlier.hidden = rows.length === found.length;
    replace(this.list, rows.map((step) => this.#row(step)));
    if (atEnd) this.node.scrollTop = this.node.scrollHeight;
  }

  #filter(kind, name) {
    const count = this.#of(kind).length;
    const choose = () => {
      Object.assign(this, { kind, shown: MOST_ROWS });
      this.#draw();
      this.filters.querySelector('[aria-pressed="true"]')?.focus();
    };
    return h("button", { class: "btn quiet small-btn", type: "button", disabled: !count && kind !== this.kind, "aria-pressed": String(kind === this.kind), on: { click: choose } }, name, h("span", { class: "num count" }, count.toLocaleString("en")));
  }

  #row(step) {
    const failed = this.#isFailed(step);
    const open = () => {
      this.list.querySelector("[aria-current]")?.removeAttribute("aria-current");
      button.setAttribute("aria-current", "true");
      this.go(step.attempt, step.offset);
    };
    const props = { class: "place step", type: "button", data: { failed: String(failed) }, title: `${step.text}\n${step.at ? clock(step.at, true) : ""}` };
    const button = h("button", { ...props, on: { click: open } },
      h("span", { class: "step-mark mono", "aria-hidden": "true" }, failed ? "✗" : MARKS[step.kind]),
      h("span", { class: "hidden-text" }, `${WORDS[step.kind]}${failed ? ", failed" : ""}: `),
      h("span", { class: step.kind === "question" ? "step-question" : "cut mono" }, relativePath(step.text) || step.tool));
    return h("li", {}, button);
  }

  #showEarlier() {
    const before = this.node.scrollHeight;
    this.shown += MOST_ROWS;
    this.#draw();
    this.node.scrollTop += this.node.scrollHeight - before;
  }
}
