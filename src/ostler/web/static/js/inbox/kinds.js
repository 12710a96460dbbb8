/** What tasks need from a person: the sections of the inbox. */

import { taskPage } from "../place.js";

/** The kinds in the order of the sections; `paused` are the tasks that the person paused. */
export const KINDS = {
  question: { title: "Questions", one: "1 question", noun: "question" },
  review: { title: "Reviews", one: "1 review", noun: "review" },
  failed: { title: "Failed", one: "1 failed task", noun: "failed task" },
};

/** What the person is asked to do, in one sentence. */
export function inWords({ asks, status, code, phase, held, conflict }) {
  if (held) return "An agent proposed it: approve it to let it start, or reject it.";
  if (code === "BUDGET_EXCEEDED") return "Its budget is used up.";
  if (code === "DEPENDENCY_FAILED") return "A task that it depends on failed.";
  if (conflict) return conflictInWords(conflict);
  if (status === "needs_review") return `Review ${phase}: approve or reject.`;
  if (asks === "approve") return `The gate of ${phase} failed. Approve the work anyway, or reject it.`;
  if (asks === "reply") return "The agent has a question.";
  if (asks === "retry") return `${phase} failed${code ? ` (${code})` : ""}.`;
  return "Paused. Resume it to continue.";
}

/** Where the title leads: to the review of the change or the document, or to the task. */
export function placeOf({ id, kind, diffstat, output_path: output, held }) {
  const task = taskPage(id);
  return kind === "review" && (diffstat || output) && !held ? `${task}/review` : task;
}

function conflictInWords({ files, target }) {
  const names = files.length > 3 ? `${files.slice(0, 3).join(", ")} and ${files.length - 3} more` : files.join(", ");
  return `It conflicts with ${target ?? "the target"}${names ? ` in ${names}` : ""}.`;
}
