/** The card of a waiting task on the page of the inbox, with everything that a decision needs. */

import { phaseDots, priority, projectChip, setPhases, setPriority, setStatus, setText, setWarnings, titleLink, warningChip } from "../board/parts.js";
import { sendOnCtrlEnter } from "../ask.js";
import { h, replace } from "../dom.js";
import { capital, money } from "../format.js";
import { markdown } from "../markdown.js";
import { inline } from "../markdown_inline.js";
import { onServer } from "../place.js";
import { reasonOf, withoutQuestion } from "../task/question.js";
import { setTicking, ticking } from "../tick.js";
import { isHeld } from "../undo.js";
import { workActions } from "../work/answers.js";
import { menuOf } from "../work/menu.js";
import { setButtons } from "./answer.js";
import { inWords, placeOf } from "./kinds.js";
import { gateTicks, setGates, setSize, sizeOfChange } from "./ticks.js";

const LONG = 420; // characters of a summary that is folded at first

/** `answer(verb, item, text)` performs an action; `selection` has has(id) and toggle(id, extend). */
export function fullCard(first, answer, selection) {
  let item = first;
  const box = h("input", { type: "checkbox", class: "inbox-check", on: { click: (event) => selection.toggle(first.id, event.shiftKey) } });
  const chip = h("span", { class: "chip" });
  const warned = warningChip();
  const since = ticking("elapsed", first.waiting_since);
  const level = priority();
  const dots = phaseDots();
  const paid = h("span", { class: "num muted" });
  const title = titleLink(first);
  const request = h("p", { class: "muted" });
  const question = h("blockquote", { class: "inbox-question", hidden: true });
  let asked = "";
  const reason = h("p", { class: "inbox-reason", hidden: true });
  let reasoned = "";
  const summary = foldedText();
  const size = sizeOfChange();
  const gates = gateTicks();
  const buttons = h("div", { class: "row wrap" });
  const field = answerField((text) => answer("reply", item, text));
  const menu = menuOf(() => item, answer);
  const node = h("div", { class: "inbox-card", role: "listitem", data: { task: first.id } },
    h("div", { class: "inbox-side" }, box),
    h("div", { class: "stack inbox-main" },
      h("div", { class: "row card-head small muted" },
        h("div", { class: "row wrap" }, projectChip(first), level, chip, warned, h("span", {}, "waiting ", since)),
        h("div", { class: "row" }, dots, paid, menu)),
      title, request, question, reason, summary.node,
      h("div", { class: "row wrap small" }, size, gates),
      field.node, buttons));
  return { node, update };

  function update(now) {
    item = now;
    node.dataset.status = item.status;
    box.checked = selection.has(item.id);
    box.setAttribute("aria-label", `Select ${item.title}`);
    node.classList.toggle("is-selected", box.checked);
    node.classList.toggle("is-held", isHeld(item.id));
    setStatus(chip, item);
    setWarnings(warned, item.warnings);
    setTicking(since, item.waiting_since);
    setPriority(level, item.priority);
    setPhases(dots, item.phases);
    setText(title, item.title);
    title.href = onServer(placeOf(item));
    setText(request, inWords(item));
    const why = reasonOf(item);
    const isAsked = item.status === "needs_review" && Boolean(why); // the message has the notes of the gates
    request.hidden = Boolean(item.question) || isAsked;
    question.hidden = !item.question;
    if (asked !== item.question) replace(question, markdown(item.question));
    asked = item.question;
    reason.hidden = Boolean(item.question || item.conflict) || !why;
    if (reasoned !== why) replace(reason, item.kind === "review" ? inline(isAsked ? capital(why) : why) : why);
    reasoned = why;
    summary.update(withoutQuestion(item.summary, item.question));
    setSize(size, item.diffstat);
    setGates(gates, item.gates);
    setText(paid, item.cost_usd === null ? "" : money(item.cost_usd));
    field.node.hidden = item.asks !== "reply" || Boolean(item.conflict);
    buttons.hidden = !field.node.hidden;
    setButtons(buttons, item, (verb) => answer(verb, item), mergeButton(item));
    if (placeOf(item).endsWith("/review") && !buttons.querySelector("a")) buttons.prepend(reviewLink(item));
  }
}

/** The button that approves and merges, where a change can be merged. */
function mergeButton(item) {
  const found = workActions(item).find(({ verb }) => verb === "approve_merge");
  return found ? [[found.verb, found.text, "m", ""]] : [];
}

function reviewLink(item) {
  return h("a", { class: "btn", href: placeOf(item), tabindex: "-1" }, "Open the review", h("kbd", { "aria-hidden": "true" }, "↵"));
}

/** The agent's summary; a long text is folded. */
function foldedText() {
  const text = h("div", { class: "inbox-summary md" });
  const toggle = h("button", { class: "btn quiet small-btn", type: "button", "aria-expanded": "false", on: { click: flip } }, "Show all");
  const node = h("div", { hidden: true }, text, toggle);
  let shown = null;
  return { node, update };

  function update(words) {
    if (words === shown) return;
    shown = words;
    node.hidden = !words;
    replace(text, words && markdown(words));
    toggle.hidden = words.length <= LONG;
    text.classList.toggle("is-folded", words.length > LONG);
  }

  function flip() {
    const folded = text.classList.toggle("is-folded");
    toggle.setAttribute("aria-expanded", String(!folded));
    toggle.textContent = folded ? "Show all" : "Show less";
  }
}

/** The field for the answer to a question; Esc leaves it. */
function answerField(send) {
  const words = h("textarea", { rows: 2, "aria-label": "Your answer", placeholder: "Your answer", on: { keydown } });
  const button = h("button", { class: "btn primary" }, "Reply", h("kbd", { "aria-hidden": "true" }, "Ctrl ↵"));
  const node = h("form", { class: "inbox-answer row", novalidate: true, on: { submit } }, words, button);
  return { node };

  function submit(event) {
    event.preventDefault();
    const text = words.value.trim();
    if (!text) return words.focus();
    send(text);
  }

  function keydown(event) {
    sendOnCtrlEnter(event);
    if (event.key !== "Escape") return;
    event.stopPropagation();
    node.closest("[data-task]").querySelector("a").focus();
  }
}
