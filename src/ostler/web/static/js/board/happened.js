/** Applies an event of the feed to the row of its task, without a request. */

import { refusal } from "../refusal.js";

const STATUS = {
  task_claimed: "in_progress", task_completed: "completed", task_failed: "failed", task_cancelled: "cancelled",
  task_deferred: "deferred", task_paused: "paused", task_blocked: "blocked", gate_waiting: "needs_review",
  task_released: "pending", task_held: "pending", task_reopened: "pending", task_created: "pending",
};
const ASKED = {
  decision_recorded: ["needs_you", "running", "waiting"], task_edited: ["waiting"], call_ended: ["running"], attempt_ended: ["running"],
};
const GROUPS = {
  needs_you: ["needs_review", "blocked", "paused"],
  running: ["in_progress"],
  waiting: ["pending", "assigned", "revision", "deferred"],
  done: ["completed", "approved"],
  ended: ["failed", "quarantined", "cancelled", "abandoned"],
};
const ACTIVITY = {
  tool_used: ({ tool, verb, detail = "", denied }) => `${denied ? `denied: ${tool}` : verb} ${detail}`.trim(),
  wait_started: ({ reason = "" }) => `waiting: ${reason}`,
  wait_ended: () => "",
  access_refused: refusal,
  agent_warned: ({ message }) => message,
  concurrency_reduced: ({ message }) => message,
  checkpoint_made: ({ commit }) => `commit ${String(commit ?? "").slice(0, 10)}`.trimEnd(),
  gate_decided: ({ verdict, reason = "" }) => `gate: ${verdict} ${reason}`.trimEnd(),
  phase_retried: ({ phase, to }) => `${phase} returns the work to ${to}`,
  work_rebased: ({ base }) => `rebased onto ${String(base).slice(0, 10)}`,
  published: ({ pr_url: url, how, note = "" }) => ["published:", how, url, note].filter(Boolean).join(" "),
};

/** The groups of the board, in order. */
export const GROUP_NAMES = Object.keys(GROUPS);

/** The statuses of a group. */
export const statusesOf = (group) => GROUPS[group];

/** The group of a task after this event, or null if the event does not determine it. */
export function groupAfter({ type }) {
  const status = STATUS[type];
  return status ? GROUP_NAMES.find((group) => GROUPS[group].includes(status)) : null;
}

/** The status of a task after such an event. */
export const statusAfter = ({ type }) => STATUS[type];

/** The groups to reload from the server after this event. */
export function groupsToAsk(event) {
  const group = groupAfter(event);
  return group ? [group] : (ASKED[event.type] ?? []);
}

/** The activity that an event describes (as views/describe.py does), or null. */
export const activity = (event) => ACTIVITY[event.type]?.(event) ?? null;

/** The row of a running task after the event. */
export function moved(row, event) {
  const now = activity(event);
  if (now !== null) return { ...row, activity: now };
  switch (event.type) {
    case "phase_started":
      return { ...row, phase: event.phase, phases: marked(row, event.phase, "running") };
    case "phase_completed":
      return { ...row, phases: marked(row, event.phase, "completed") };
    case "phase_failed":
      return { ...row, phases: marked(row, event.phase, "failed") };
    case "iteration_started":
      return { ...row, phase: event.phase, iteration: event.iteration, activity: "", phases: marked(row, event.phase, "running") };
    case "usage_reported":
      return { ...row, tokens: row.tokens + total(event.usage) };
    default:
      return row;
  }
}

function marked(row, phase, status) {
  return row.phases.map((each) => (each.id === phase ? { ...each, status } : each));
}

function total(usage = {}) {
  return (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);
}
