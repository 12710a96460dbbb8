/** The transcript with its bar (which attempt, where in the file, follow, find, share), its prompt and its result. */

import { address, get, taskPath } from "../api.js";
import { h, replace } from "../dom.js";
import { bytes, span, statusName } from "../format.js";
import { refused } from "../toast.js";
import { partOf } from "./page_window.js";
import { promptFold } from "./prompts.js";
import { markText, searchField } from "./search.js";
import { LogReader } from "./log_reader.js";
import { Transcript } from "./transcript.js";
import { drawVerdict } from "./verdict.js";

const SHORT_BYTES = 200_000;

/** Shows one attempt at a time; `changed(number)` is called with its number, and `search` gets the events of searchField. */
export class TranscriptPane {
  constructor(id, signal, { changed, search }) {
    Object.assign(this, { id, signal, changed, shown: null, number: null, attempts: [], size: 0, waits: false });
    this.choice = h("select", {
      class: "attempt-choice",
      "aria-label": "Attempt",
      on: { change: () => this.choose(Number(this.choice.value)) },
    });
    this.facts = h("span", { class: "muted cut attempt-facts" });
    this.find = searchField(search);
    this.following = h(
      "button",
      { class: "btn quiet follow", type: "button", "aria-pressed": "false", on: { click: () => this.toggleFollow() } },
      "Follow",
    );
    this.raw = h("a", { class: "btn quiet raw", download: true }, "Raw");
    this.scrubber = h("input", {
      type: "range",
      class: "scrubber",
      min: 0,
      max: 1000,
      "aria-label": "Position in the transcript",
      on: { change: () => this.#jump() },
    });
    this.place = h("span", { class: "muted num place" });
    this.latest = h(
      "button",
      {
        class: "btn primary latest",
        type: "button",
        hidden: true,
        on: { click: () => this.shown.openTail(this.live) },
      },
      "Jump to latest ↓",
    );
    this.none = h("p", { class: "empty", hidden: true }, "No agent has worked on it yet.");
    this.prompt = h("div", {});
    this.room = h("div", { class: "transcript-room" });
    this.verdict = h("p", { class: "attempt-verdict", hidden: true });
    this.scrub = h("div", { class: "scrub row" }, this.scrubber, this.place);
    this.bar = h(
      "div",
      { class: "transcript-bar" },
      h("div", { class: "row wrap" }, this.choice, this.facts, this.find.node, this.following, this.raw),
      this.scrub,
    );
    this.node = h(
      "section",
      { class: "transcript-pane", "aria-label": "Transcript" },
      h("h2", { class: "hidden-text" }, "Transcript"),
      this.bar,
      this.none,
      this.prompt,
      h("div", { class: "transcript-frame" }, this.room, this.latest),
      this.verdict,
    );
  }

  /** Updates the task; if the end of the last attempt is shown, a new attempt is opened. */
  update(task) {
    const newest = task.attempts.at(-1)?.number ?? null;
    const last = this.attempts.at(-1)?.number;
    this.attempts = task.attempts;
    this.bar.hidden = newest === null;
    this.none.hidden = newest !== null;
    this.#drawChoice();
    const goesOn = newest !== last && this.number === last && this.shown?.showsEnd;
    const follows = this.number === null ? !this.waits : goesOn;
    if (newest !== null && follows) return this.choose(newest);
    return undefined;
  }

  /** Shows an attempt: at an offset, at a time, or at its end. */
  async choose(number, { offset = null, at = null } = {}) {
    if (number !== this.number) this.#open(number);
    if (offset !== null) await this.shown.openAt(offset);
    else if (at !== null) await this.#openTime(at);
    else await this.shown.openTail(this.live);
  }

  /** Marks a text in the entry that was opened. */
  mark(text) {
    markText([...this.room.querySelectorAll(".is-pointed")], text);
  }

  get live() {
    return this.attempt?.status === "running";
  }

  get attempt() {
    return this.attempts.find((one) => one.number === this.number);
  }

  /** Whether more output may follow, or is unread. */
  get isOpen() {
    return this.live || Boolean(this.shown?.follow && !this.shown.atEnd);
  }

  /** Loads new entries. */
  tick() {
    return this.shown?.tick();
  }

  toggleFollow() {
    return this.shown?.setFollow(!this.shown.follow);
  }

  async #openTime(at) {
    if (!this.shown.size) await this.shown.openTail(false);
    await this.shown.openTime(at);
  }

  #open(number) {
    this.shown?.close();
    this.number = number;
    const read = (offset, limit) => get(taskPath(this.id, "attempts", number, "log"), { offset, limit }, this.signal);
    const origin = Date.parse(this.attempt?.started_at ?? 0) / 1000;
    this.shown = new Transcript(new LogReader(read), number, origin, {
      moved: (where) => this.#moved(where),
      followed: (follow) => this.#followed(follow),
      failed: (error) => error.code === "NETWORK" || refused(error),
    });
    replace(this.prompt, promptFold(this.id, number, this.signal));
    replace(this.room, this.shown.node);
    this.#drawChoice();
    this.changed(number);
  }

  #drawChoice() {
    const label = (one) =>
      `#${one.number}  ${one.phase}${one.iteration > 1 ? ` ${one.iteration}` : ""} · ${attemptWord(one.status)}`;
    const options = this.attempts.map((one) =>
      h("option", { value: one.number, selected: one.number === this.number }, label(one)),
    );
    const texts = options.map((one) => one.textContent).join("\n");
    if (texts !== this.drawn) replace(this.choice, options);
    this.drawn = texts;
    if (this.number !== null) this.choice.value = String(this.number);
    this.#drawFacts();
  }

  #drawFacts() {
    const one = this.attempt;
    if (!one) return;
    const took = one.duration_ms !== null && one.duration_ms !== undefined ? span(one.duration_ms / 1000) : null;
    this.facts.textContent = [one.executor, one.model, took, one.resumed && "session resumed", one.code]
      .filter(Boolean)
      .join(" · ");
    this.raw.setAttribute("href", address(taskPath(this.id, "attempts", one.number, "raw")));
    drawVerdict(this.verdict, one);
    this.following.hidden = !this.live;
    if (this.shown) this.shown.node.dataset.live = String(this.live);
  }

  #moved({ offset, size, atEnd }) {
    this.size = size;
    this.scrub.hidden = size < SHORT_BYTES;
    if (document.activeElement !== this.scrubber)
      this.scrubber.value = String(atEnd && this.shown.follow ? 1000 : partOf(offset, size));
    this.place.textContent = `${bytes(offset)} of ${bytes(size)}`;
    const { scrollHeight, scrollTop, clientHeight } = this.shown.node;
    this.latest.hidden = this.shown.follow || (atEnd && scrollHeight - scrollTop - clientHeight < 200);
  }

  #followed(follow) {
    this.following.setAttribute("aria-pressed", String(follow));
    if (follow) this.latest.hidden = true;
  }

  #jump() {
    const part = Number(this.scrubber.value) / 1000;
    if (part >= 1) return this.shown.openTail(this.live);
    return this.shown.openAt(Math.floor(part * this.size), false);
  }
}

/** The status of an attempt as text. */
export const attemptWord = (status) =>
  ({ succeeded: "succeeded", running: "running", interrupted: "interrupted" })[status] ??
  statusName(status).toLowerCase();
