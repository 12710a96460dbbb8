/** What a task wants of a person, in words. */

import { clock } from "../format.js";

/** What a task wants of a person: {title, text, next, judged, reply}, or null. */
export function questionOf(task) {
  const gate = task.phases.find((phase) => phase.id === task.phase)?.gate;
  switch (task.status) {
    case "needs_review":
      return {
        title: "Needs your decision",
        text: task.message || gate?.reason || `The gate of ${task.phase} asks for a person.`,
        next: "",
        judged: true,
      };
    case "blocked":
      return blocked(task);
    case "paused":
      return {
        title: "Paused",
        text: task.message,
        next: PAUSED[task.code] ?? "It goes on where it stopped when you resume it.",
        reply: task.code !== "BUDGET_EXCEEDED" && "Resume",
      };
    case "deferred":
      return {
        title: `Waits for a limit${task.resumes_at ? ` until ${clock(task.resumes_at)}` : ""}`,
        text: task.message,
        next: "Nothing to do: it goes on by itself at that time. Resume tries at once.",
      };
    case "failed":
    case "quarantined":
      return {
        title: "It failed",
        text: [task.code, task.message].filter(Boolean).join(": "),
        next: "Read the last lines of the transcript, then Retry, or Rewind with a hint.",
      };
    default:
      return null;
  }
}

const PAUSED = {
  ITERATION_LIMIT: "All iterations are used. Resume gives it as many again.",
  BUDGET_EXCEEDED: "The money set for it is used. Retry asks you for a larger budget.",
};

const BLOCKED = {
  NEEDS_INPUT: "The agent asks you something",
  GATE_REJECTED: "A gate says no, and nothing is left to try",
  GATE_UNRUNNABLE: "A gate could not find out",
  STUCK: "It fails in the same way again and again",
  MERGE_CONFLICT: "Its work does not fit the branch that it is for",
  DEPENDENCY_FAILED: "A task before it did not succeed",
};
const AT_GATE = ["GATE_REJECTED", "GATE_UNRUNNABLE", "STUCK"];

function blocked(task) {
  const judged = AT_GATE.includes(task.code);
  return {
    title: BLOCKED[task.code] ?? "Blocked",
    text: task.message || task.code,
    next: judged
      ? "Approve takes the work as it is; reject sends it back with your words."
      : "Your answer goes to the agent, and it goes on where it stopped.",
    judged,
    reply: "Reply and go on",
  };
}
