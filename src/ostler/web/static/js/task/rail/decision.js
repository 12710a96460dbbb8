/** The decision about a task, always visible: the verdicts of its commit, the text for the agent, and the buttons. */

import { post, taskPath } from "../../api.js";
import { h, replace } from "../../dom.js";
import { bind } from "../../keys.js";
import { keptFor } from "../../place.js";
import { holdDecision, isHeld, watchHeld } from "../../undo.js";
import { acceptWork } from "../../work/accept.js";
import { ask, send } from "../actions.js";
import { choicesOf } from "./choices.js";

const GROUP = "This task";
const DONE = { approve: "Approved", back: "Sent back", reject: "Rejected", reply: "Answered", "go-on": "Continues" };
const PATHS = { "go-on": "resume", reply: "resume" };
const PLAIN = ["pause", "undo"]; // never the prominent button
const KEYS = { a: "Approve", m: "Merge", s: "Send back, with the text", r: "Write to the agent" };

/** `done(task)` gets the result of an action, null if the task is to be loaded again; `open()` shows the field on a phone. */
export class TaskDecision {
  constructor(id, { done, open, signal }) {
    Object.assign(this, { id, done, open, drawn: "", buttons: [] });
    this.words = h("textarea", { rows: 2, class: "rail-words", "aria-label": "Text for the agent", on: { input: () => this.#wrote(), keydown: (event) => this.#typed(event) } });
    this.words.value = sessionStorage.getItem(this.#kept) ?? "";
    this.verdicts = h("p", { class: "rail-verdicts" });
    this.choices = h("div", { class: "rail-choices" });
    this.note = h("p", { class: "muted rail-note", role: "status" });
    this.node = h("div", { class: "rail-decision", role: "region", "aria-label": "Decision" }, this.verdicts, this.words, this.choices, this.note);
    watchHeld(() => this.#draw(), signal);
    for (const [key, text] of Object.entries(KEYS)) bind(key, text, () => this.#pressKey(key), { group: GROUP, signal });
  }

  /** Shows what can be decided about the task; `review` is its ostler.review/1, null while it is not loaded. */
  update(task, review) {
    Object.assign(this, { task, review });
    const found = choicesOf(task, review);
    if (found.text && !this.words.value) this.words.value = found.text;
    this.found = found;
    this.#draw();
  }

  #draw() {
    const { task, found } = this;
    if (!task) return;
    const held = isHeld(this.id);
    const drawn = JSON.stringify([found, task.verdicts, held, Boolean(this.words.value.trim()), this.#note(held)]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const isJudged = found.buttons.some(({ verb }) => ["approve", "merge", "publish"].includes(verb)) && task.verdicts;
    this.verdicts.hidden = !isJudged;
    this.verdicts.dataset.tone = task.verdicts?.passed ? "ok" : "warn";
    this.verdicts.textContent = isJudged ? `${task.verdicts.passed ? "✓" : "!"} ${task.verdicts.text}` : "";
    this.words.hidden = !found.field;
    this.words.placeholder = found.field ?? "";
    const writes = found.field && this.words.value.trim();
    const first = (writes && found.buttons.find((one) => one.needsText)) || found.buttons[0];
    const inOrder = [first, ...found.buttons.filter((one) => one !== first)].filter(Boolean);
    replace(this.choices, inOrder.map((one) => this.#button(one, one === first, held)));
    this.note.textContent = this.#note(held);
    this.node.dataset.empty = String(!inOrder.length && !this.note.textContent);
  }

  #button(one, isFirst, held) {
    const props = { class: `btn decide ${isFirst && !PLAIN.includes(one.verb) ? "primary" : ""}`, type: "button", disabled: held || one.disabled, title: one.why, data: { verb: one.verb } };
    return h("button", { ...props, on: { click: () => this.#press(one) } }, h("span", { class: "decide-text" }, one.text), one.key && h("kbd", { "aria-hidden": "true" }, one.key));
  }

  #note(held) {
    const { task, found } = this;
    if (held) return "Your decision is sent in a few seconds, unless you undo it.";
    if (task.requested && task.status !== "blocked") return `Requested: ${task.requested}. It is done as soon as a run is free.`;
    return found.note ?? found.buttons.map((one) => one.why).find(Boolean) ?? "";
  }

  /** The browser handles a key that does not apply to the task. */
  #pressKey(key) {
    if (key === "r") return this.words.hidden ? false : this.#focus();
    const one = this.found?.buttons.find((each) => each.key === key || (key === "m" && each.then === "merge"));
    return one ? this.#press(one) : false;
  }

  async #press(one) {
    const text = this.words.hidden ? "" : this.words.value.trim();
    if (isHeld(this.id) || one.disabled) return;
    if (one.needsText && !text) {
      this.#focus();
      this.words.classList.add("is-needed");
      this.note.textContent = "Write a text first. Ctrl ↵ sends it.";
    } else if (one.verb === "message") {
      if (await send(this.id, "message", { text }, this.done)) this.#clear();
    } else if (["run", "pause", "retry", "resume", "undo"].includes(one.verb)) {
      const body = one.verb === "undo" ? {} : await ask(one.verb, this.task);
      if (body) await send(this.id, one.verb, body, this.done);
    } else if (["merge", "publish", "rebase"].includes(one.verb)) {
      if (await acceptWork([this.task], one.verb)) this.done(null);
    } else await this.#decide(one, text);
  }

  async #decide({ verb, then }, text) {
    const key = crypto.randomUUID(); // a repeated request adds nothing
    const judges = { approve: "approve", back: "changes" }[verb];
    const path = taskPath(this.id, judges ? "review" : (PATHS[verb] ?? verb));
    const body = judges ? { id: key, verdict: judges, text, commit: this.review.version, round: this.review.round, then: then ?? "" } : verb === "go-on" ? {} : { text };
    const deliver = (options) => post(path, body, undefined, options);
    const answer = await holdDecision({ text: `${DONE[verb]}: ${this.task.title}`, tasks: [this.id], send: deliver });
    if (!answer) return;
    this.#clear();
    this.done(judges ? null : answer);
  }

  #clear() {
    this.words.value = "";
    this.words.blur(); // the keys act on the next decision
    this.#wrote();
  }

  #focus() {
    this.open();
    this.words.focus();
    return true;
  }

  get #kept() {
    return keptFor(`ostler.answer.${this.id}`);
  }

  /** A text that is not sent survives a reload of the page. */
  #wrote() {
    this.words.classList.remove("is-needed");
    sessionStorage.setItem(this.#kept, this.words.value);
    this.#draw();
  }

  #typed(event) {
    if (event.key === "Escape") this.words.blur();
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    const { buttons } = this.found;
    const one = buttons.find((each) => each.needsText || each.key === "Ctrl ↵");
    if (one) this.#press(one);
  }
}
