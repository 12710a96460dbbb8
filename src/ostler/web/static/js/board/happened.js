/** What one event of the feed means for the row of its task, without asking the server. */

const STATUS = {
  task_claimed: "in_progress", task_completed: "completed", task_failed: "failed", task_cancelled: "cancelled",
  task_deferred: "deferred", task_paused: "paused", task_blocked: "blocked", gate_waiting: "needs_review",
  task_released: "pending", task_reopened: "pending", task_created: "pending",
};
const ASKED = { decision_recorded: ["needs_you", "running", "waiting"], call_ended: ["running"], attempt_ended: ["running"] };
const GROUPS = {
  needs_you: ["needs_review", "blocked", "paused"],
  running: ["in_progress"],
  waiting: ["pending", "assigned", "revision", "deferred"],
  done: ["completed", "approved"],
  ended: ["failed", "quarantined", "cancelled", "abandoned"],
};
const DOING = {
  tool_used: ({ tool, detail = "", denied }) => `${denied ? "denied: " : ""}${tool} ${detail}`.trim(),
  wait_started: ({ reason = "" }) => `waits: ${reason}`,
  wait_ended: () => "",
  agent_warned: ({ message }) => message,
  work_adjusted: ({ message }) => message,
  checkpoint_made: () => "committed",
  gate_decided: ({ verdict, reason = "" }) => `gate: ${verdict} ${reason}`.trimEnd(),
  phase_retried: ({ to }) => `back to ${to}`,
  work_rebased: ({ base }) => `rebased onto ${String(base).slice(0, 10)}`,
  published: ({ pr_url: url, how }) => `published: ${url ?? how}`,
};

/** The groups of the board, in the order of a person's interest. */
export const GROUP_NAMES = Object.keys(GROUPS);

/** The statuses that a group has. */
export const statusesOf = (group) => GROUPS[group];

/** The group that a task is in after this event, or null where the event does not say. */
export function groupAfter({ type }) {
  const status = STATUS[type];
  return status ? GROUP_NAMES.find((group) => GROUPS[group].includes(status)) : null;
}

/** The groups that only the server can tell after this event. */
export function groupsToAsk(event) {
  const group = groupAfter(event);
  return group ? [group] : (ASKED[event.type] ?? []);
}

/** What the agent does now, in a few words; null where the event does not say. */
export const doing = (event) => DOING[event.type]?.(event) ?? null;

/** The row of a running task behind the event. */
export function moved(row, event) {
  const now = doing(event);
  if (now !== null) return { ...row, doing: now };
  switch (event.type) {
    case "phase_started":
      return { ...row, phase: event.phase, phases: marked(row, event.phase, "running") };
    case "phase_completed":
      return { ...row, phases: marked(row, event.phase, "completed") };
    case "phase_failed":
      return { ...row, phases: marked(row, event.phase, "failed") };
    case "iteration_started":
      return { ...row, phase: event.phase, iteration: event.iteration, doing: "", phases: marked(row, event.phase, "running") };
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
