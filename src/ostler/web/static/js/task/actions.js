/** The actions that the state of a task allows. */

import { post, taskPath } from "../api.js";
import { askText, askYes } from "../ask.js";
import { refused, notify } from "../toast.js";
import { askPhase } from "./ask_phase.js";

const READY = ["pending", "assigned", "revision"];
const ENDED = ["completed", "approved", "failed", "quarantined", "cancelled", "abandoned"];
const OPEN_AGAIN = ["failed", "quarantined", "cancelled", "abandoned"];

/** The actions that a task allows now, the most likely first. */
export function fitting(task) {
  const { status } = task;
  const left = task.phases.filter((phase) => !["completed", "skipped"].includes(phase.status));
  return [
    [...READY, "deferred"].includes(status) && "run",
    ["paused", "blocked", "deferred"].includes(status) && "resume",
    (OPEN_AGAIN.includes(status) || task.code === "BUDGET_EXCEEDED") && "retry",
    [...READY, "deferred", "in_progress"].includes(status) && "pause",
    status !== "approved" && task.attempts.length > 0 && "rewind",
    !ENDED.includes(status) && left.length > 0 && "skip",
    !ENDED.includes(status) && "cancel",
  ].filter(Boolean);
}

/** Sends an action to the server; `done(task)` gets the result. */
export async function send(id, verb, body, done) {
  try {
    const task = await post(taskPath(id, verb), body);
    notify(DONE[verb]);
    done(task);
    return true;
  } catch (error) {
    refused(error);
    return false;
  }
}

/** Asks for the parameters of an action; null if cancelled. */
export const ask = (verb, task) => ASKS[verb](task);

/** The actions as the text of a button. */
export const NAMES = {
  run: "Run",
  resume: "Resume…",
  retry: "Retry",
  pause: "Pause",
  rewind: "Rewind…",
  skip: "Skip a phase…",
  cancel: "Cancel…",
};
const DONE = {
  run: "Runs as soon as a slot is free.",
  resume: "Resumed.",
  retry: "Reopened.",
  pause: "Pausing.",
  rewind: "Rewound.",
  skip: "Phase skipped.",
  cancel: "Cancelled.",
  undo: "Taken back.",
  message: "The agent continues with your message.",
};

const ASKS = {
  run: async () => ({}),
  pause: async () => ({}),
  retry: async (task) => (task.code === "BUDGET_EXCEEDED" ? askBudget(task) : {}),
  resume: async (task) => {
    const text = await askText({
      title: `Resume ${task.id}`,
      label: "Feedback for the agent (optional)",
      text: task.message,
      action: "Resume",
    });
    return text === null ? null : { text };
  },
  rewind: async (task) => {
    const phases = task.phases.map((phase) => phase.id);
    return askPhase({
      title: "Rewind",
      why: "This phase and all later ones run again.",
      phases,
      chosen: task.phase,
      label: "What to change (optional)",
      name: "text",
      action: "Rewind",
    });
  },
  skip: async (task) => {
    const phases = task.phases
      .filter((phase) => !["completed", "skipped"].includes(phase.status))
      .map((phase) => phase.id);
    return askPhase({
      title: "Skip a phase",
      why: "The phase does not run, and its gate is not checked.",
      phases,
      chosen: task.phase,
      label: "Why?",
      name: "reason",
      required: true,
      action: "Skip",
    });
  },
  cancel: async (task) =>
    (await askYes({
      title: `Cancel ${task.id}?`,
      text: "The agent is stopped. Its work stays on the branch; Retry reopens the task.",
      action: "Cancel the task",
      danger: true,
    }))
      ? { reason: "" }
      : null,
};

/** A larger budget in dollars; nothing is sent if it is not a number. */
async function askBudget(task) {
  const text = await askText({
    title: `Retry ${task.id}`,
    label: "New budget in US dollars, including what it has cost so far",
    text: task.message,
    required: true,
    action: "Retry",
  });
  const budget_usd = Number(text?.replace(/[$,\s]/g, ""));
  if (text && !(budget_usd > 0)) refused(new Error(`invalid amount ${text}: expected US dollars such as 2.50`));
  return budget_usd > 0 ? { budget_usd } : null;
}
