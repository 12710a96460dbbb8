/** What a person can decide about a task now: the field for a text, and the buttons. */

import { isMerged } from "../../work/answers.js";
import { questionOf } from "../question.js";

const WAITS = ["pending", "assigned", "revision"];
const OPEN_AGAIN = ["failed", "quarantined", "cancelled", "abandoned"];
const BACK = { verb: "back", text: "Send back", key: "s", needsText: true };
const ACCEPT_KEYS = { merge: "m" };

/**
 * `review` is the task's ostler.review/1. Returns {field, buttons}: `field` is the placeholder of the text, or null; the first
 * button is the likely one; {verb, text, key, needsText, disabled, why}.
 */
export function choicesOf(task, review) {
  if (task.conflict?.agent) return conflict(task);
  if (task.status === "completed") return completed(task, review);
  if (review?.can.approve.allowed) return judged(task, review);
  const { reply, judged: isJudged } = questionOf(task) ?? {};
  if (isJudged && !review) return { field: null, buttons: [] };
  if (reply) return { field: "Your answer (optional)", buttons: [{ verb: "reply", text: reply, key: "Ctrl ↵" }] };
  if (OPEN_AGAIN.includes(task.status) || task.code === "BUDGET_EXCEEDED") return { field: null, buttons: [{ verb: "retry", text: "Retry" }] };
  if (task.status === "in_progress") return running(task);
  if (task.status === "deferred") return { field: null, buttons: [{ verb: "resume", text: "Resume now" }] };
  if (WAITS.includes(task.status)) return { field: null, buttons: [{ verb: "run", text: "Run now" }, { verb: "pause", text: "Pause" }] };
  return { field: null, buttons: [] };
}

/** A message interrupts the agent, so it is offered only while one works. */
function running(task) {
  const pause = { verb: "pause", text: "Pause" };
  if (task.attempts.at(-1)?.status !== "running") return { field: null, buttons: [pause] };
  const message = { verb: "message", text: "Send to the agent", key: "Ctrl ↵", needsText: true };
  return { field: "Message to the agent", buttons: [pause, message], note: "A message stops the agent. It continues at once with the message, in the same session if it can resume one." };
}

function judged(task, { can }) {
  const approve = { verb: "approve", text: can.approve.label, key: "a", then: can.approve.then };
  const back = task.held ? { ...BACK, verb: "reject", text: "Reject" } : { ...BACK, ...refusal(can.send_back) };
  const buttons = can.approve.overrules ? [back, approve] : [approve, back];
  return { field: task.held ? "Why not? (required to reject)" : "What to change (required to send it back)", buttons };
}

function completed(task, review) {
  const accept = task.accept.map(({ action, label, ...how }) => ({ verb: action, text: label, key: ACCEPT_KEYS[action], ...refusal(how) }));
  const can = isMerged(task) ? [] : accept.filter((one) => !one.disabled);
  const back = review?.can.send_back.allowed ? [BACK] : [];
  const undo = task.can_undo ? [{ verb: "undo", text: "Undo the last decision" }] : [];
  // The base of a pull request has the work only when it is merged there.
  const note = isMerged(task) ? `Its work is in ${task.published_into}.` : undefined;
  return { field: back.length ? "What to change (required to send it back)" : null, buttons: [...can, ...back, ...undo], note };
}

function conflict({ conflict: { agent } }) {
  return {
    field: "What the agent is to do",
    text: agent,
    buttons: [
      { verb: "reply", text: "Let the agent solve it", key: "Ctrl ↵" },
      { verb: "go-on", text: "I solved it, continue" },
    ],
  };
}

const refusal = ({ allowed, reason }) => (allowed ? {} : { disabled: true, why: reason });
