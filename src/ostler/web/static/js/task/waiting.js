/** What a task needs from a person: the question, the evidence and the actions. */

import { h, replace } from "../dom.js";
import { bind } from "../keys.js";
import { refused } from "../toast.js";
import { send } from "./actions.js";
import { gateOutput } from "./gates.js";
import { questionOf } from "./question.js";

const GROUP = "This task";
const EVIDENCE_LINES = 12;

/** A box that is shown while the task waits; `show(tab)` opens a tab, `done(task)` gets the result. */
export class WaitingBox {
  constructor(id, { show, done, signal }) {
    Object.assign(this, { id, show, done, drawn: "" });
    this.node = h("section", { class: "wait-box card", "aria-label": "Waiting for", hidden: true });
    this.words = h("textarea", {
      rows: 2,
      "aria-label": "Feedback for the agent",
      on: { keydown: (event) => this.#send(event) },
    });
    bind("a", "Approve", () => this.#press("approve"), { group: GROUP, signal });
    bind("x", "Reject, with a reason", () => this.#press("reject"), { group: GROUP, signal });
    bind("r", "Reply", () => this.#press("reply"), { group: GROUP, signal });
  }

  update(task) {
    this.task = task;
    const asks = questionOf(task);
    const drawn = JSON.stringify([task.status, task.code, task.message, task.phase, task.resumes_at, task.hold]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.node.hidden = !asks;
    this.node.dataset.status = task.status;
    if (asks) replace(this.node, this.#parts(task, asks));
  }

  #parts(task, asks) {
    return [
      h("h2", {}, asks.title),
      asks.text && h("p", { class: "wait-why" }, capital(asks.text)),
      asks.next && h("p", { class: "muted" }, asks.next),
      asks.judged && this.#evidence(task),
      (asks.judged || asks.reply) && this.#answer(asks),
    ];
  }

  #evidence(task) {
    const gate = task.phases.find((phase) => phase.id === task.phase)?.gate;
    const output = h("div", { class: "wait-output" });
    gateOutput(task.id, task.phase, EVIDENCE_LINES).then((node) => node && replace(output, node), refused);
    return h(
      "div",
      { class: "stack" },
      gate?.reason && gate.reason !== task.message && h("p", {}, `Gate: ${gate.reason}`),
      output,
      h(
        "div",
        { class: "row wrap" },
        h(
          "button",
          { class: "btn quiet", type: "button", on: { click: () => this.show("changes") } },
          "See the changes",
        ),
        h("button", { class: "btn quiet", type: "button", on: { click: () => this.show("gates") } }, "See the gates"),
      ),
    );
  }

  #answer(asks) {
    this.words.value = "";
    this.words.placeholder = asks.judged
      ? "What to change (required to reject)"
      : "Answer for the agent (optional)";
    const button = (verb, look, text, key) =>
      h(
        "button",
        { class: `btn ${look}`, type: "button", data: { verb }, on: { click: () => this.#press(verb) } },
        text,
        h("kbd", {}, key),
      );
    const judged = asks.judged && [
      button("approve", "good", "Approve", "a"),
      button("reject", "danger", "Reject", "x"),
    ];
    const reply = !asks.judged && button("send", "primary", asks.reply, "Ctrl ↵");
    return h(
      "div",
      { class: "stack" },
      this.words,
      h(
        "div",
        { class: "row wrap" },
        judged,
        reply,
        h("span", { class: "faint key-hint" }, h("kbd", { class: "key" }, "r"), " writes a reply"),
      ),
    );
  }

  /** The browser handles a key that does not apply to the task. */
  #press(verb) {
    const asks = this.task && questionOf(this.task);
    if (!asks?.judged && !asks?.reply) return false;
    const text = this.words.value.trim();
    if (verb === "reply") this.words.focus();
    else if (verb === "send") send(this.id, "resume", { text }, this.done);
    else if (!asks.judged) return false;
    else if (verb === "reject" && !text) this.#needsReason();
    else send(this.id, verb, { text }, this.done);
    return true;
  }

  #needsReason() {
    this.words.focus();
    this.words.classList.add("is-needed");
    this.words.placeholder = "A rejection needs a reason. Ctrl ↵ sends it.";
  }

  #send(event) {
    this.words.classList.remove("is-needed");
    if (event.key === "Escape") this.words.blur();
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.#press(questionOf(this.task)?.judged ? "reject" : "send");
  }
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
