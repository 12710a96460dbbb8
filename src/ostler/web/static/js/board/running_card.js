/** The card of a running task, with its last actions. */

import { h } from "../dom.js";
import { capital, money, tokens } from "../format.js";
import { setTicking, ticking } from "../tick.js";
import { menuOf } from "../work/menu.js";
import { phaseDots, phaseWords, priority, setPhases, setPriority, setText, titleLink } from "./parts.js";

/** The height of one, with the gap below it. */
export const RUNNING_HEIGHT = 176;

/** `actions` has the last actions of all tasks; `answer(verb, row)` performs an action. */
export function runningCard(first, actions, answer) {
  let row = first;
  const title = titleLink(first);
  const level = priority();
  const dots = phaseDots();
  const phase = h("span", { class: "cut" });
  const lines = h("ol", { class: "activity mono", "aria-label": "Last actions" });
  const used = h("span", { class: "num" });
  const paid = h("span", { class: "num" });
  const since = ticking("elapsed", first.since);
  const node = h("div", { class: "tile tile-running", role: "listitem" },
    h("div", { class: "row" }, title, level, menuOf(() => row, answer)),
    h("div", { class: "row muted small" }, dots, phase),
    lines,
    h("div", { class: "row small tile-foot" }, since, h("span", { class: "grow" }), used, paid));
  return { node, update };

  function update(now) {
    row = now;
    setText(title, row.title);
    setPriority(level, row.priority);
    setPhases(dots, row.phases);
    setText(phase, phaseWords(row));
    setText(used, row.tokens ? `${tokens(row.tokens)} tokens` : "");
    setText(paid, row.cost_usd === null ? "" : money(row.cost_usd));
    setTicking(since, row.since);
    setLines(lines, shownActions(row, actions));
  }
}

function shownActions(row, actions) {
  const done = actions.of(row.id);
  if (done.length) return done;
  return [{ seq: 0, verb: "", text: capital(row.activity || "starts") }];
}

/** Moves the newest line in from below; remaining lines move up with it, and many at once are not animated. */
function setLines(list, actions) {
  const has = list.lastElementChild?.dataset.seq;
  const newest = actions.at(-1);
  if (has === String(newest.seq) && newest.seq && list.childElementCount === actions.length) return;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches || list.getAnimations({ subtree: true }).length > 0;
  list.replaceChildren(...actions.map(line));
  if (has !== undefined && has !== String(newest.seq) && !still) rise(list);
}

function line({ seq, verb, text }) {
  return h("li", { class: "cut", data: { seq }, title: `${verb} ${text}` }, verb && h("b", {}, capital(verb)), ` ${text}`);
}

function rise(list) {
  const came = [{ transform: "translateY(20px)" }, { transform: "none" }];
  for (const line of list.children) line.animate(came, { duration: 220, easing: "ease-out" });
}
