/** The rail of a task's page: what it needs, its summary, gates, conflict and facts; the decision at its end. */

import { h, replace } from "../../dom.js";
import { capital } from "../../format.js";
import { markdown } from "../../markdown.js";
import { inline } from "../../markdown_inline.js";
import { fill, gateRow, section } from "../../review/rail_parts.js";
import { refused } from "../../toast.js";
import { gateOutput } from "../gates.js";
import { questionOf, reasonOf, withoutQuestion } from "../question.js";
import { conflictBody } from "./conflict.js";
import { Found } from "./found.js";
import { Facts } from "./facts.js";
import { LiveWork } from "./live.js";
import { phaseList } from "./phases.js";
import { Steps } from "./steps.js";
import { RailViews } from "./views.js";

const EVIDENCE_LINES = 12;

/** `decision` is a TaskDecision; `go(attempt, offset, text)` opens a place in the transcript. */
export class TaskRail {
  constructor(id, decision, { go, signal }) {
    Object.assign(this, { id, decision, drawn: "" });
    this.asks = h("section", { class: "rail-ask", "aria-label": "Waiting for", hidden: true });
    this.live = new LiveWork(id, signal);
    this.conflict = section("Conflict");
    this.summary = section("The agent's summary");
    this.gates = section("Gates");
    this.phases = section("Phases");
    this.warnings = section("Warnings");
    this.warningList = h("ul", { class: "task-warnings" });
    this.warnings.body.append(this.warningList);
    this.facts = new Facts(id, signal);
    const details = section("Details");
    fill(details, null, this.facts.node);
    this.scroll = h("div", { class: "rail-scroll", tabindex: "0", role: "region", "aria-label": "About this task" },
      this.asks, this.live.node, this.conflict.node, this.summary.node, this.gates.node, this.phases.node, this.warnings.node, details.node);
    this.steps = new Steps(id, { go, signal });
    this.found = new Found(id, { go, signal });
    this.views = new RailViews({ overview: this.scroll, steps: this.steps.node, found: this.found.node }, (name) => name === "steps" && this.steps.refresh());
    this.node = h("aside", { class: "task-rail review-rail", "aria-label": "This task" }, this.views.bar, this.scroll, this.steps.node, this.found.node, decision.node);
  }

  /** Shows the results of a search; an empty text ends it. */
  search(text) {
    if (!text) return this.views.forget();
    this.views.show("found");
    return this.found.search(text);
  }

  /** Keeps what is shown current after events of a running task. */
  async refresh(isLive, stale) {
    await this.live.refresh(isLive, stale);
    if (stale && this.views.current === "steps") await this.steps.refresh();
  }

  /** `review` is the ostler.review/1 of the task, null while it is not loaded. */
  update(task, review) {
    this.decision.update(task, review);
    this.facts.update(task);
    const drawn = JSON.stringify([task.status, task.code, task.message, task.phase, task.phases, task.resumes_at, task.hold, task.conflict, task.warning_texts, review?.summary, review?.gates]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.#drawAsks(task, review);
    fill(this.conflict, task.conflict?.target ? `Conflict with ${task.conflict.target}` : "Conflict", conflictBody(task.conflict));
    const summary = withoutQuestion(review?.summary ?? "", review?.question || task.message);
    fill(this.summary, null, summary && markdown(summary));
    fill(this.gates, review?.commit ? `Gates of this commit, ${review.commit.slice(0, 7)}` : "Gates", review?.gates.length > 0 && h("ul", { class: "rail-gates" }, review.gates.map(gateRow)));
    fill(this.phases, null, phaseList(task));
    this.warnings.node.hidden = !task.warning_texts?.length;
    replace(this.warningList, (task.warning_texts ?? []).map((text) => h("li", {}, text)));
  }

  #drawAsks(task, review) {
    const asks = questionOf(task);
    this.asks.hidden = !asks;
    this.asks.dataset.status = task.status;
    if (!asks) return;
    const text = task.conflict ? "Nothing was merged: both sides changed the files below." : capital(review?.question || asks.text);
    replace(this.asks, h("h2", {}, asks.title), text && markdown(text), asks.next && h("p", { class: "muted" }, asks.next), asks.judged && reasonOf(task) && this.#evidence(task));
  }

  /** The end of the output of the gate that failed. */
  #evidence(task) {
    const gate = task.phases.find((phase) => phase.id === task.phase)?.gate;
    const output = h("div", { class: "rail-output" });
    gateOutput(task.id, task.phase, EVIDENCE_LINES).then((node) => node && replace(output, node), refused);
    return [gate?.reason && gate.reason !== task.message && h("p", {}, "Gate: ", inline(gate.reason)), output];
  }
}

