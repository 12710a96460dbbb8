/** The card of a task that waits or has ended: its title and one line with the reason or the result. */

import { h, replace } from "../dom.js";
import { clock, money, plural } from "../format.js";
import { setTicking, ticking } from "../tick.js";
import { phaseDots, priority, setPhases, setPriority, setStatus, setText, setWarnings, titleLink, warningChip } from "./parts.js";

/** The height of one, with the gap below it. */
export const CARD_HEIGHT = 76;
export const ENDED_HEIGHT = 100;

/** A waiting task: for a slot, for another task, or for a limit; `limits.hold` is why no new task starts. */
export function waitingCard(first, limits) {
  const part = frame(first, "waiting");
  const why = h("span", { class: "cut grow" });
  const left = ticking("left", first.resumes_at);
  part.foot.append(why, left);
  return living(part, (row) => {
    part.node.dataset.status = row.status;
    setText(why, waitsFor(row, limits.hold));
    setTicking(left, row.resumes_at ?? row.not_before ?? null);
  });
}

/** A completed task: its result, its cost and its time. */
export function doneCard(first) {
  const part = frame(first, "done");
  const dots = phaseDots();
  const paid = h("span", { class: "num" });
  const when = ticking("ago", first.updated_at);
  const result = h("span", { class: "grow cut mono" });
  part.foot.append(dots, result, paid, when);
  return living(part, (row) => {
    setPhases(dots, row.phases);
    setResult(result, row.result ?? "");
    setText(paid, row.cost_usd === null ? "" : money(row.cost_usd));
    setTicking(when, row.updated_at);
  });
}

/** A task that ended without success: the reason, and a retry. */
export function endedCard(first, retry) {
  const part = frame(first, "ended");
  const why = h("p", { class: "cut small muted" });
  const chip = h("span", { class: "chip" });
  const when = ticking("ago", first.updated_at);
  const again = h("button", { class: "btn quiet small-btn", type: "button", on: { click: () => retry(part.row) } }, "Retry");
  part.foot.before(why);
  part.foot.append(chip, when, h("span", { class: "grow" }), again);
  return living(part, (row) => {
    setText(why, row.message || "no reason recorded");
    why.title = row.message;
    setStatus(chip, row.status);
    setTicking(when, row.updated_at);
    again.hidden = row.asks !== "retry";
  });
}

function frame(first, kind) {
  const title = titleLink(first);
  const level = priority();
  const foot = h("div", { class: "row small muted tile-foot" });
  const warned = warningChip();
  const head = h("div", { class: "row" }, title, warned, level);
  const node = h("article", { class: `tile tile-${kind}`, role: "listitem" }, head, foot);
  return { node, title, level, warned, foot, row: first };
}

function living(part, update) {
  return {
    node: part.node,
    update(row) {
      part.row = row;
      setText(part.title, row.title);
      part.title.title = row.title;
      setPriority(part.level, row.priority);
      setWarnings(part.warned, row.warnings);
      update(row);
    },
  };
}

/** A pull request is a link; a document and a branch are names. */
function setResult(node, result) {
  if (node.title === result) return;
  node.title = result;
  const away = { href: result, target: "_blank", rel: "noopener noreferrer" };
  replace(node, /^https?:/.test(result) ? h("a", away, result.replace(/^https?:\/\/(www\.)?/, "")) : result);
}

function waitsFor({ resumes_at: resumes, not_before: begins, waits_for: before, status, pipeline, step }, hold) {
  if (resumes) return `Limit, resets ${clock(resumes)}`;
  if (before.length === 1) return `After ${before[0]}`;
  if (before.length) return `After ${plural(before.length, "task")}`;
  if (begins && Date.parse(begins) > Date.now()) return `Starts ${clock(begins)}`;
  if (status === "revision") return "Waits for a revision";
  if (hold && status === "pending") return hold;
  return pipeline ? `${pipeline}, ${step}` : "Starts when a slot is free";
}
