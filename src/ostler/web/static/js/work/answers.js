/** What a person can decide about a task, with the keys of the board and the inbox. */

const ANSWERS = {
  approve: [["approve", "Approve", "a", "good"], ["reject", "Send back", "s", ""]],
  overrule: [["reject", "Send back", "s", "primary"], ["approve", "Approve anyway", "a", ""]],
  reply: [["reply", "Reply", "r", "primary"]],
  resume: [["resume", "Resume", "r", "primary"]],
  retry: [["retry", "Retry", "r", "primary"]],
};
const PROPOSAL = [["approve", "Approve", "a", "good"], ["reject", "Reject", "s", ""]];
const COPY = ["copy", "Copy commands", "", ""];
const SOLVE = ["solve", "Send to the agent", "r", "primary"];
/** Other keys, each with the verbs that it may have. */
const KEYS = { m: ["merge", "approve_merge"], e: ["edit"] };

/** The decisions with a button on the card: verb, text, key, look. */
export function answersOf({ asks, conflict, held, status }) {
  if (held && asks === "approve") return PROPOSAL;
  if (conflict) return conflict.agent ? [SOLVE, COPY] : [...(ANSWERS.resume), COPY];
  return ANSWERS[asks === "approve" && status === "blocked" ? "overrule" : asks] ?? [];
}

/** What else can be done with the work of a task: {verb, text, allowed, reason}. */
export function workActions(row) {
  const own = [...approvals(row), ...acceptances(row), ...queueActions(row)];
  if (row.conflict?.agent) own.push({ verb: "reply", text: "Send another message to the agent…", allowed: true });
  if (row.can_undo) own.push({ verb: "undo", text: "Take back the last decision", allowed: true });
  return own;
}

/** Whether a task allows one of these actions now. */
export const allows = (row, verb) => workActions(row).some((action) => action.verb === verb && action.allowed);

/** The verb of a key for this task, or undefined. */
export function verbOfKey(row, key) {
  if (!(key in KEYS)) return answersOf(row).find(([, , own]) => own === key)?.[0];
  return workActions(row).find(({ verb, allowed }) => allowed && KEYS[key].includes(verb))?.verb;
}

/** Whether a branch has the work, so that nothing is left to accept. */
export const isMerged = ({ published_into: into, pr_url: url }) => Boolean(into) && !url;

function approvals({ asks, kind, diffstat, held }) {
  if (asks !== "approve" || kind !== "review" || !diffstat || held) return [];
  return [
    { verb: "approve_merge", text: "Approve and merge", allowed: true },
    { verb: "approve_pr", text: "Approve and open a pull request", allowed: true },
  ];
}

function queueActions({ group, priority }) {
  if (group !== "waiting") return [];
  return [
    { verb: "edit", text: "Edit…", allowed: true },
    { verb: "queue_first", text: `Move to the front of ${priority}`, allowed: true },
    { verb: "queue_last", text: `Move to the end of ${priority}`, allowed: true },
  ];
}

function acceptances(row) {
  if (isMerged(row)) return [];
  return (row.accept ?? []).map(({ action, label, allowed, reason }) => ({ verb: action, text: label, allowed, reason }));
}
