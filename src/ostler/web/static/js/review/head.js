/** The header of the review page: the task, its round, what it took, and the next one that waits. */

import { h, replace } from "../dom.js";
import { money, span } from "../format.js";
import { keptFor } from "../place.js";
import { go } from "../router.js";
import { reveal, revealed } from "../hidden.js";
import { reviewPath } from "./path.js";

const VISITED = keptFor("ostler.review.visited");

/** One line. */
export class ReviewHead {
  constructor(state) {
    this.state = state;
    this.facts = h("div", { class: "row review-facts" });
    this.next = h("button", { class: "btn quiet review-next", type: "button", on: { click: () => this.goNext() } }, "Next", h("kbd", {}, "]"));
    const task = `/tasks/${encodeURIComponent(state.task)}`;
    this.title = h("h1", { class: "cut review-title" });
    this.node = h("header", { class: "review-head" },
      h("a", { class: "btn quiet square", href: task, "aria-label": "Back to the task", title: "Back to the task" }, "←"),
      this.title, h("span", { class: "grow" }), this.facts, this.next);
    this.draw();
    remember(state.task);
  }

  draw() {
    const { doc } = this.state;
    replace(this.title, h("span", { class: "muted review-id" }, doc.id), " ", revealed(doc.title));
    this.title.title = `${doc.id} ${reveal(doc.title)}`;
    const facts = [doc.agent, duration(doc.duration_ms), doc.cost_usd !== null && money(doc.cost_usd)].filter(Boolean).join(" · ");
    const others = doc.waiting - (doc.status === "needs_review" || doc.can.approve.overrules ? 1 : 0);
    replace(this.facts,
      h("span", { class: "chip plain", data: { tone: "run" } }, `Round ${doc.round}`),
      h("span", { class: "muted cut" }, facts),
      others > 0 && h("span", { class: "muted review-wait" }, `${others} more ${others === 1 ? "waits" : "wait"}`));
    this.next.disabled = !doc.next;
    this.next.title = doc.next ? `Review ${doc.next}` : `No other task waits for a review`;
  }

  goNext() {
    if (this.state.doc.next) go(reviewPath(this.state.doc.next));
  }

  goBack() {
    const visited = read();
    const at = visited.lastIndexOf(this.state.task);
    if (at > 0) go(reviewPath(visited[at - 1]));
  }
}

/** Minutes are exact enough here. */
const duration = (ms) => (!ms ? "" : ms < 60_000 ? span(ms / 1000) : ms < 3_600_000 ? `${Math.round(ms / 60_000)} min` : span(ms / 1000));

/** The reviews of this tab, in the order of the first visit. */
function remember(task) {
  const visited = read();
  if (!visited.includes(task)) sessionStorage.setItem(VISITED, JSON.stringify([...visited, task].slice(-100)));
}

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(VISITED) ?? "[]");
  } catch {
    return [];
  }
}
