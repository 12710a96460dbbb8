/** The rail: the gates of this commit, the agent's summary, comments, and the decision. */

import { h, replace } from "../dom.js";
import { reasonOf } from "../task/question.js";
import { markdown } from "../markdown.js";
import { conflictBody } from "../task/rail/conflict.js";
import { byProgram, kindChip, STATES } from "./card.js";
import { reveal } from "../hidden.js";
import { placeName } from "./parts.js";
import { fill, gateRow, section } from "./rail_parts.js";

/** `decision` is a DecisionBar; `comments` is the Comments of the page. */
export class Rail {
  constructor(state, comments, decision) {
    Object.assign(this, { state, comments, decision, opened: new Set() });
    this.gates = section("");
    this.conflict = section("Conflict");
    this.notes = section("Before you decide");
    this.summary = section("The agent's summary");
    this.question = section("The agent's question");
    this.earlier = section("");
    this.drafts = section("");
    this.whole = h("textarea", { rows: 3, class: "rail-whole", placeholder: "For the whole change (optional)", "aria-label": "Comment on the whole change" });
    this.whole.addEventListener("input", () => this.#writeWhole());
    this.whole.addEventListener("keydown", (event) => this.#typed(event));
    this.wholeBy = h("p", {});
    this.scroll = h("div", { class: "rail-scroll", tabindex: "0", role: "region", "aria-label": "Gates, summary and comments" },
      this.conflict.node, this.gates.node, this.notes.node, this.question.node, this.summary.node, this.earlier.node, this.drafts.node, this.whole, this.wholeBy);
    this.node = h("aside", { class: "review-rail", "aria-label": "Review" }, this.scroll, decision.node);
    this.draw();
  }

  draw() {
    const { doc } = this.state;
    fill(this.gates, doc.commit ? `Gates of this commit, ${doc.commit.slice(0, 7)}` : "Gates", doc.gates.length > 0 && h("ul", { class: "rail-gates" }, doc.gates.map(gateRow)));
    fill(this.conflict, `Conflict with ${doc.conflict?.target ?? "the target"}`, conflictBody(doc.conflict));
    fill(this.notes, doc.can.approve.allowed ? "Before you decide" : "Notes", this.#drawNotes());
    fill(this.question, null, doc.question && markdown(doc.question));
    fill(this.summary, null, doc.summary && !doc.summary.includes(doc.question || "\0") && markdown(doc.summary));
    this.drawComments();
  }

  /** Why it waits, unless another section has it, and what was noticed about the work. */
  #drawNotes() {
    const { doc } = this.state;
    const isKnown = doc.conflict || doc.question || doc.gates.some(({ reason }) => reason && doc.message.includes(reason));
    const texts = [isKnown ? "" : reasonOf(doc), ...doc.warnings].filter(Boolean);
    return texts.length > 0 && h("ul", { class: "task-warnings" }, texts.map((text) => h("li", {}, reveal(text))));
  }

  drawComments() {
    const earlier = this.state.earlier.filter((one) => !one.resolved || one.review === this.state.lastReview);
    const open = earlier.filter((one) => !one.resolved).length;
    const origin = earlier.some((one) => one.review !== this.state.lastReview) ? "From earlier reviews" : "From the last review";
    fill(this.earlier, `${origin}${open ? `, ${open} to look at` : ", all resolved"}`, earlier.length > 0 && h("ul", { class: "rail-cards" }, earlier.map((one) => this.#earlierRow(one))));
    const drafts = this.state.written;
    fill(this.drafts, `This review, ${drafts.length} not sent`, drafts.length > 0 && h("ul", { class: "rail-cards" }, drafts.filter((one) => one !== this.state.whole).map((one) => this.#draftRow(one))));
    replace(this.wholeBy, this.state.whole && byProgram(this.state.whole));
    if (document.activeElement !== this.whole) this.whole.value = this.state.whole?.text ?? "";
    this.decision.draw();
  }

  #earlierRow(comment) {
    const state = STATES[comment.state] ?? STATES.unknown;
    const chip = comment.resolved ? h("span", { class: "chip plain", data: { tone: "ok" } }, "Resolved") : h("span", { class: "chip plain", data: { tone: state.tone } }, state.text);
    const isLost = !comment.now && !this.comments.changes?.fileOf(comment.place.path);
    if (isLost || !comment.place.path) return h("li", {}, this.comments.earlierNode(comment));
    return h("li", {}, cardButton(placeName(comment.now ?? comment.place), comment.text, chip, () => this.comments.show(comment.now ?? { ...comment.place, line: 0, end_line: 0 })));
  }

  #draftRow(draft) {
    if (!draft.place.path) return h("li", {}, this.comments.draftNode(draft));
    return h("li", {}, cardButton(placeName(draft.place), draft.text || "A suggestion", kindChip(draft.kind), () => this.comments.show(draft.place)));
  }

  /** Ctrl Enter sends the work back. */
  #typed(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.decision.sendBack();
  }

  #writeWhole() {
    const text = this.whole.value;
    const { whole } = this.state;
    if (whole) this.state.change(whole.id, { text });
    else this.state.add({ path: "", side: "new", line: 0, end_line: 0 }, { text });
  }
}

function cardButton(place, text, chip, go) {
  return h("button", { class: "rail-card", type: "button", on: { click: go } },
    h("span", { class: "row" }, h("span", { class: "muted cut grow" }, place), chip),
    h("span", { class: "rail-card-text" }, reveal(text)));
}
