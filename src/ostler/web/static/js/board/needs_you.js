/** The tasks that wait for a person, with their question and the actions. */

import { h, replace } from "../dom.js";
import { money, plural } from "../format.js";
import { setTicking, ticking } from "../tick.js";
import { phaseDots, priority, setPhases, setPriority, setStatus, setText, setWarnings, titleLink, warningChip } from "./parts.js";

const ANSWERS = {
  approve: [["approve", "Approve", "a", "good"], ["reject", "Reject", "x", ""]],
  reply: [["reply", "Reply", "r", "primary"]],
  resume: [["resume", "Resume", "r", "primary"]],
  retry: [["retry", "Retry", "r", "primary"]],
};

const STEP = 4;

/** Draws `pile`, a Pile of this group; `answer(action, row)` performs an action. */
export class NeedsYou {
  node = h("section", { class: "needs", "aria-labelledby": "needs-title", hidden: true });
  rows = [];
  #rowsShown = 1;
  #parts = new Map();
  #grid = h("div", { class: "needs-grid", role: "list" });
  #title = h("h2", { id: "needs-title", "aria-live": "polite" });
  #more = h("button", { class: "btn quiet small-btn", type: "button", on: { click: () => this.#showMore() } });
  #answer;
  #pile = null;

  constructor(answer) {
    this.#answer = answer;
    this.node.append(h("div", { class: "row" }, this.#title, this.#more), this.#grid);
  }

  /** Shows the rows of the pile. */
  draw(pile) {
    this.#pile = pile;
    this.node.hidden = !pile.total;
    this.rows = pile.rows.slice(0, this.#room());
    setText(this.#title, pile.total === 1 ? "1 task needs you" : `${pile.total.toLocaleString("en")} tasks need you`);
    this.#drawCards();
    const left = pile.total - this.rows.length;
    this.#more.hidden = left <= 0;
    setText(this.#more, left > this.#across() * STEP ? `Show more of ${plural(left, "other")}` : `Show ${plural(left, "other")}`);
  }

  /** Moves the focus to a card; false where there is none. */
  focus(index) {
    const link = this.#parts.get(this.rows[index]?.id)?.node.querySelector("a");
    link?.focus();
    return Boolean(link);
  }

  /** The index of the focused card, or -1. */
  focused() {
    const id = document.activeElement?.closest(".needs [data-task]")?.dataset.task;
    return this.rows.findIndex((row) => row.id === id);
  }

  #drawCards() {
    const active = document.activeElement;
    const held = this.#grid.contains(active) ? [...this.#grid.children].findIndex((node) => node.contains(active)) : -1;
    const kept = new Map(this.rows.map((row) => [row.id, this.#parts.get(row.id) ?? card(row, this.#answer)]));
    this.#parts = kept;
    this.rows.forEach((row) => kept.get(row.id).update(row));
    const nodes = [...kept.values()].map((part) => part.node);
    if (nodes.some((node, at) => this.#grid.children[at] !== node) || nodes.length !== this.#grid.children.length) {
      replace(this.#grid, nodes);
      if (this.#grid.contains(active)) active.focus({ preventScroll: true });
      else if (held >= 0) this.focus(Math.min(held, nodes.length - 1));
    }
  }

  #showMore() {
    this.#rowsShown += STEP;
    if (this.#room() > this.#pile.rows.length) this.#pile.more();
    this.draw(this.#pile);
  }

  /** Shows one row of cards at first, so that running tasks stay visible. */
  #room() {
    return Math.max(2, this.#across() * this.#rowsShown);
  }

  #across() {
    return getComputedStyle(this.#grid).gridTemplateColumns.split(" ").length;
  }
}

function card(first, answer) {
  const chip = h("span", { class: "chip" });
  const warned = warningChip();
  const since = ticking("ago", first.updated_at);
  const level = priority();
  const title = titleLink(first);
  const request = h("p", {});
  const message = h("p", { class: "needs-message" });
  const buttons = h("div", { class: "row wrap" });
  const dots = phaseDots();
  const paid = h("span", { class: "num small muted" });
  const node = h("article", { class: "tile needs-card", role: "listitem", data: { task: first.id } },
    h("div", { class: "row wrap small muted" }, chip, warned, since, h("span", { class: "grow" }), dots, level),
    title, request, message,
    h("div", { class: "row needs-foot" }, buttons, h("span", { class: "grow" }), paid));
  let row = first;
  return { node, update };

  function update(now) {
    row = now;
    node.dataset.status = row.status;
    setStatus(chip, row.status);
    setWarnings(warned, row.warnings);
    setTicking(since, row.updated_at);
    setPriority(level, row.priority);
    setPhases(dots, row.phases);
    setText(title, row.title);
    setText(request, inWords(row));
    setText(message, row.message);
    message.title = row.message;
    setText(paid, row.cost_usd === null ? "" : money(row.cost_usd));
    if (buttons.dataset.asks !== row.asks) drawButtons();
  }

  function drawButtons() {
    buttons.dataset.asks = row.asks ?? "";
    replace(buttons, (ANSWERS[row.asks] ?? []).map(([verb, text, key, kind]) => {
      const props = { class: `btn ${kind}`, type: "button", on: { click: () => answer(verb, row) } };
      return h("button", props, text, h("kbd", { "aria-hidden": "true" }, key));
    }));
  }
}

function inWords({ asks, status, code, phase, held }) {
  if (held) return "An agent proposed it: approve it to let it start, or reject it.";
  if (code === "BUDGET_EXCEEDED") return "Its budget is used up.";
  if (code === "DEPENDENCY_FAILED") return "A task that it depends on failed.";
  if (status === "needs_review") return `Review ${phase}: approve or reject.`;
  if (asks === "approve") return `The gate of ${phase} failed. Approve the work anyway, or reject it.`;
  if (asks === "reply") return "Cannot continue without you.";
  return "Paused. Resume it to continue.";
}
