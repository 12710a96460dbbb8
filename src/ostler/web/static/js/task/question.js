/** What a task needs from a person, as text. */

import { clock, statusName } from "../format.js";

// The commit, the size and the command that passed are shown beside it.
const PLAIN_REQUEST = /^please review .+ \([0-9a-f]{10}: [^;]*\)(; `[^`]*` succeeded)?$/;

/** Why a task waits, if that is more than the request to review it. */
export const reasonOf = ({ message }) => (PLAIN_REQUEST.test(message ?? "") ? "" : message ?? "");

/** What a task needs from a person: {title, text, next, judged, reply}, or null. */
export function questionOf(task) {
  const gate = task.phases.find((phase) => phase.id === task.phase)?.gate;
  switch (task.status) {
    case "needs_review":
      return {
        title: "Needs your decision",
        text: reasonOf(task) || (task.message ? `Review ${task.phase}.` : gate?.reason || `The gate of ${task.phase} needs a person.`),
        next: "",
        judged: true,
      };
    case "blocked":
      return blocked(task);
    case "paused":
      return {
        title: "Paused",
        text: task.message,
        next: PAUSED[task.code] ?? "Resume it to continue where it stopped.",
        reply: task.code !== "BUDGET_EXCEEDED" && "Resume",
      };
    case "deferred":
      return {
        title: `${statusName("deferred", task.code)}${task.resumes_at ? ` until ${clock(task.resumes_at)}` : ""}`,
        text: task.message,
        next: "Nothing to do: it resumes at that time. Resume tries at once.",
      };
    case "pending":
      return task.hold && { title: "Waiting for a window of the account", text: task.hold, next: "Nothing to do: it starts after the reset." };
    case "failed":
    case "quarantined":
      return {
        title: "Failed",
        text: [task.code, task.message].filter(Boolean).join(": "),
        next: task.attempts.length ? "Read the end of the transcript, then retry, or rewind with feedback." : "No agent was started: remove the reason, then retry.",
      };
    default:
      return null;
  }
}

/** The agent's words without its question, which is shown beside them. */
export function withoutQuestion(summary, question) {
  return (question ? summary.replace(question, () => "") : summary).trim();
}

const PAUSED = {
  ITERATION_LIMIT: "All iterations are used. Resume grants the same number again.",
  BUDGET_EXCEEDED: "The budget is used up. Retry asks for a larger one.",
};

const BLOCKED = {
  NEEDS_INPUT: "The agent has a question",
  AGENT_BLOCKED: "The agent has a question",
  GATE_REJECTED: "A gate failed and no retry is left",
  GATE_UNRUNNABLE: "A gate could not run",
  STUCK: "It fails repeatedly in the same way",
  MERGE_CONFLICT: "Its work conflicts with the target branch",
  DEPENDENCY_FAILED: "A task that it depends on failed",
};
const AT_GATE = ["GATE_REJECTED", "GATE_UNRUNNABLE", "STUCK"];

function blocked(task) {
  const judged = AT_GATE.includes(task.code);
  return {
    title: BLOCKED[task.code] ?? "Blocked",
    text: task.message || task.code,
    next: judged
      ? "Approve accepts the work; reject returns it with your feedback."
      : "The agent continues with your answer.",
    judged,
    reply: "Reply and resume",
  };
}
