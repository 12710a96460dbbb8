/** The card of a task that waits or has ended: its title and one line with the reason or the result. */

import { h } from "../dom.js";
import { clock, deferredBy, money, plural } from "../format.js";
import { gateTicks, setGates, setSize, sizeOfChange } from "../inbox/ticks.js";
import { isIdle } from "../server_state.js";
import { setTicking, ticking } from "../tick.js";
import { isHeld } from "../undo.js";
import { allows } from "../work/answers.js";
import { menuOf } from "../work/menu.js";
import { otherWarnings, outcomeLine, setOutcome } from "../work/outcome.js";
import { priority, setPriority, setStatus, setText, setWarnings, titleLink, warningChip } from "./parts.js";

/** The height of one, with the gap below it. */
export const CARD_HEIGHT = 76;
export const DONE_HEIGHT = 104;
export const ENDED_HEIGHT = 100;

/** A waiting task: for a slot, for another task, or for a limit; `limits.hold` is why no new task starts. */
export function waitingCard(first, limits, answer, forecast) {
  const part = frame(first, "waiting");
  part.head.append(menuOf(() => part.row, answer));
  const why = h("span", { class: "cut grow" });
  const left = ticking("left", first.resumes_at);
  const place = h("span", { class: "num queue-place", hidden: true });
  part.node.draggable = true;
  part.foot.append(place, part.warned, why, left);
  return living(part, (row) => {
    const found = forecast.places.get(row.id);
    place.hidden = !found?.place;
    setText(place, found?.place ? `#${found.place}` : "");
    place.title = found?.place ? `Place ${found.place} in the queue` : "";
    part.node.dataset.status = row.status;
    setText(why, waitsFor(row, limits.hold, found?.starts_at));
    setTicking(left, row.resumes_at ?? row.not_before ?? null);
  });
}

/** A completed task: what it changed, what its gates decided, and what became of the work. `answer(verb, row)` performs an action. */
export function doneCard(first, answer, selection) {
  const part = frame(first, "done");
  const size = sizeOfChange();
  const gates = gateTicks();
  const outcome = outcomeLine();
  const merge = h("button", { class: "btn small-btn", type: "button", data: { verb: "merge" }, on: { click: () => answer("merge", part.row) } }, "Merge");
  const paid = h("span", { class: "num muted" });
  const when = ticking("ago", first.updated_at);
  const box = h("input", { type: "checkbox", class: "done-check", tabindex: "-1", on: { click: (event) => selection.toggle(part.row.id, event.shiftKey) } });
  part.head.append(menuOf(() => part.row, answer));
  part.foot.before(h("div", { class: "row small done-work" }, size, gates, part.warned, h("span", { class: "grow" }), box, paid));
  part.foot.append(outcome, h("span", { class: "grow" }), merge, when);
  return living(part, (row) => {
    setSize(size, row.diffstat);
    setGates(gates, row.gates);
    setOutcome(outcome, row);
    // The work of a pull request is merged on GitHub; the menu can still merge it here.
    merge.hidden = Boolean(row.pr_url) || !allows(row, "merge");
    box.hidden = !allows(row, "rebase") && !allows(row, "publish");
    box.checked = selection.has(row.id);
    box.setAttribute("aria-label", `Select ${row.title}`);
    part.node.classList.toggle("is-selected", box.checked);
    merge.setAttribute("aria-disabled", isHeld(row.id));
    part.node.classList.toggle("is-held", isHeld(row.id));
    setText(paid, row.cost_usd === null ? "" : money(row.cost_usd));
    setTicking(when, row.updated_at);
  });
}

/** A task that ended without success: the reason, and a retry. */
export function endedCard(first, answer) {
  const part = frame(first, "ended");
  const why = h("p", { class: "cut small muted" });
  const chip = h("span", { class: "chip" });
  const when = ticking("ago", first.updated_at);
  const again = h("button", { class: "btn quiet small-btn", type: "button", on: { click: () => answer("retry", part.row) } }, "Retry");
  part.head.append(menuOf(() => part.row, answer));
  part.foot.before(h("div", { class: "row" }, part.warned, why));
  part.foot.append(chip, when, h("span", { class: "grow" }), again);
  return living(part, (row) => {
    setText(why, row.message || "no reason recorded");
    why.title = row.message;
    setStatus(chip, row);
    setTicking(when, row.updated_at);
    again.hidden = row.asks !== "retry";
  });
}

function frame(first, kind) {
  const title = titleLink(first);
  const level = priority();
  const foot = h("div", { class: "row small muted tile-foot" });
  const warned = warningChip();
  const head = h("div", { class: "row" }, title, level);
  const node = h("div", { class: `tile tile-${kind}`, role: "listitem" }, head, foot);
  return { node, head, title, level, warned, foot, row: first };
}

function living(part, update) {
  return {
    node: part.node,
    update(row) {
      part.row = row;
      setText(part.title, row.title);
      part.title.title = row.title;
      setPriority(part.level, row.priority);
      setWarnings(part.warned, otherWarnings(row));
      update(row);
    },
  };
}

const DEFERRED = {
  limit: (time) => `Limit, resets ${time}`,
  budget: (time) => `Budget of the day, resets ${time}`,
  provider: (time) => `Provider, retry ${time}`,
};
const REQUESTED = { merge: "To be merged", pr: "To be published", rebase: "To be rebased" };

function waitsFor({ resumes_at: resumes, not_before: begins, waits_for: before, status, code, pipeline, step, requested }, hold, starts) {
  if (resumes) return DEFERRED[deferredBy(code)](clock(resumes));
  if (before.length === 1) return `After ${before[0]}`;
  if (before.length) return `After ${plural(before.length, "task")}`;
  if (begins && Date.parse(begins) > Date.now()) return `Starts ${clock(begins)}`;
  if (status === "revision") return "Waits for a revision";
  if (hold && status === "pending") return hold;
  if (requested) return REQUESTED[requested];
  if (isIdle()) return "No process runs tasks: ostler run";
  if (starts && Date.parse(starts) > Date.now()) return `Starts about ${clock(starts)}`;
  return pipeline ? `${pipeline}, ${step}` : "Starts when a slot is free";
}
