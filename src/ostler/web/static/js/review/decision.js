/** The decision of a review: send the work back with the comments, approve it, or let the agent solve a conflict. */

import { h, replace } from "../dom.js";
import { plural } from "../format.js";
import { perform } from "../perform_action.js";
import { holdDecision, isHeld, watchHeld } from "../undo.js";

const FOLLOWS = { merge: "Merge", pr: "Open PR" };

/** Two buttons, of which the one that fits the state is prominent. `problem(error)` shows an error of the server. */
export class DecisionBar {
  constructor(state, { problem, focusWhole }) {
    Object.assign(this, { state, problem, focusWhole });
    this.back = h("button", { type: "button", on: { click: () => this.sendBack() } });
    this.approving = h("button", { type: "button", on: { click: () => this.approve() } });
    this.solving = h("button", { type: "button", on: { click: () => this.solve() } }, label("Let the agent solve it", "Agent solves it"), key("R"));
    this.verdicts = h("p", { class: "rail-verdicts" });
    this.note = h("p", { class: "muted rail-note", role: "status" });
    this.node = h("div", { class: "rail-decision" }, this.verdicts, this.solving, this.back, this.approving, this.note);
    watchHeld(() => this.draw(), state.signal);
  }

  draw() {
    const { doc } = this.state;
    const count = this.state.written.length;
    const held = isHeld(this.state.task);
    const { approve, send_back: back } = doc.can;
    const first = this.#first(count);
    for (const button of [this.back, this.approving, this.solving]) button.className = `btn decide ${button === first ? "primary" : ""}`;
    this.solving.hidden = !doc.conflict?.agent;
    this.approving.hidden = !this.solving.hidden;
    this.solving.disabled = held;
    this.back.disabled = !back.allowed || held;
    this.approving.disabled = !approve.allowed || held;
    replace(this.back, label(count ? `Send back with ${plural(count, "comment")}` : "Send back", count ? `Send back (${count})` : "Send back"), key("S"));
    replace(this.approving, label(this.#approveText(count), doc.can.approve.label || "Approve"), key("A"));
    this.#drawVerdicts();
    this.node.prepend(this.verdicts, first);
    replace(this.note, this.#note(held));
  }

  /** Lets the agent solve the conflict with the target branch. */
  solve() {
    const { doc } = this.state;
    if (this.solving.hidden || this.solving.disabled) return false;
    return perform("solve", { id: doc.id, title: doc.title, conflict: doc.conflict });
  }

  /** Without a comment there is nothing to send: the field for the whole change gets the focus. */
  sendBack() {
    const { can } = this.state.doc;
    if (this.back.disabled) return can.send_back.allowed ? undefined : this.problem({ message: can.send_back.reason });
    const count = this.state.written.length;
    if (!count) return this.focusWhole();
    return this.#decide("changes", `Sent back with ${plural(count, "comment")}`, "");
  }

  approve() {
    const { approve } = this.state.doc.can;
    if (this.approving.disabled) return approve.allowed ? undefined : this.problem({ message: approve.reason });
    const text = approve.then === "merge" ? "Approved, to be merged" : approve.then === "pr" ? "Approved, with a pull request" : "Approved";
    return this.#decide("approve", text, approve.then);
  }

  async #decide(verdict, text, then) {
    const { state } = this;
    const { title } = state.doc;
    const id = crypto.randomUUID(); // a repeated request adds nothing
    try {
      await state.keeper.settle();
    } catch (error) {
      return this.problem(error);
    }
    const send = async ({ keepalive }) => {
      try {
        return await state.send({ id, verdict, text: "", then }, { keepalive });
      } catch (error) {
        this.problem(error);
        throw error;
      }
    };
    return holdDecision({ text: `${text}: ${title}`, send, tasks: [state.task] });
  }

  /** The likely decision: comments are sent, and failed work is not approved by chance. */
  #first(count) {
    const { can, conflict } = this.state.doc;
    if (count || can.approve.overrules) return this.back;
    return conflict?.agent ? this.solving : this.approving;
  }

  /** It names what follows, such as a merge, also where comments stay behind. */
  #approveText(count) {
    const { approve } = this.state.doc.can;
    if (!count || approve.overrules) return approve.label || "Approve";
    return `${FOLLOWS[approve.then] ?? "Approve"} without sending ${count === 1 ? "it" : "them"}`;
  }

  #drawVerdicts() {
    const { can, verdicts } = this.state.doc;
    this.verdicts.hidden = !can.approve.allowed || !verdicts;
    this.verdicts.dataset.tone = verdicts?.passed ? "ok" : "warn";
    this.verdicts.textContent = verdicts ? `${verdicts.passed ? "✓" : "!"} ${verdicts.text}` : "";
  }

  #note(held) {
    const { doc } = this.state;
    if (held) return "Your decision is sent in a few seconds, unless you undo it.";
    if (this.state.isOutdated) return ""; // the notice of the page has what happened since
    const reason = [!doc.can.approve.allowed && doc.can.approve.reason, !doc.can.send_back.allowed && doc.can.send_back.reason].filter(Boolean);
    if (reason.length) return [...new Set(reason.map(sentence))].join(" ");
    const open = this.state.earlier.filter((one) => !one.resolved).length;
    if (open) return `${open} of your earlier comments ${open === 1 ? "is" : "are"} not resolved yet.`;
    return "";
  }
}

/** A long text, and a short one for narrow screens. */
function label(long, short) {
  return [h("span", { class: "label-long" }, long), h("span", { class: "label-short" }, short)];
}

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, "")}.`;

const key = (name) => h("kbd", { "aria-hidden": "true" }, name);
