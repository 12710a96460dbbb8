/** What a person can do with a task as it stands: the verbs of the command line. */

import { post, taskPath } from "../api.js";
import { askText, askYes } from "../ask.js";
import { h, replace } from "../dom.js";
import { refused, said } from "../toast.js";
import { askPhase } from "./ask_phase.js";

const READY = ["pending", "assigned", "revision"];
const ENDED = ["completed", "approved", "failed", "quarantined", "cancelled", "abandoned"];
const OPEN_AGAIN = ["failed", "quarantined", "cancelled", "abandoned"];

/** The verbs that fit a task now, the likeliest first. */
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

/** Says a verb to the server; `done(task)` gets what became of it. */
export async function say(id, verb, body, done) {
  try {
    const task = await post(taskPath(id, verb), body);
    said(DONE[verb]);
    done(task);
    return true;
  } catch (error) {
    refused(error);
    return false;
  }
}

/** Puts the buttons that fit into `root`. */
export function drawActions(root, task, done) {
  const verbs = fitting(task);
  const buttons = verbs.map((verb, index) => {
    const run = async () => {
      const body = await ASKS[verb](task);
      if (body) await say(task.id, verb, body, done);
    };
    const look =
      verb === "cancel" ? "btn quiet danger" : index === 0 && !["rewind", "skip"].includes(verb) ? "btn" : "btn quiet";
    return h("button", { class: look, type: "button", data: { verb }, on: { click: run } }, NAMES[verb]);
  });
  const drawn = verbs.join();
  if (root.dataset.verbs !== drawn) replace(root, buttons);
  root.dataset.verbs = drawn;
}

const NAMES = {
  run: "Run",
  resume: "Resume…",
  retry: "Retry",
  pause: "Pause",
  rewind: "Rewind…",
  skip: "Skip a phase…",
  cancel: "Cancel…",
};
const DONE = {
  run: "It goes on with the next free place.",
  resume: "It goes on.",
  retry: "It is opened again.",
  pause: "It pauses after this step.",
  rewind: "It goes back.",
  skip: "The phase is skipped.",
  cancel: "It is cancelled.",
  approve: "Approved.",
  reject: "Sent back with your words.",
};

const ASKS = {
  run: async () => ({}),
  pause: async () => ({}),
  retry: async (task) => (task.code === "BUDGET_EXCEEDED" ? askBudget(task) : {}),
  resume: async (task) => {
    const text = await askText({
      title: `Resume ${task.id}`,
      label: "Anything to tell the agent? (may stay empty)",
      text: task.message,
      action: "Resume",
    });
    return text === null ? null : { text };
  },
  rewind: async (task) => {
    const phases = task.phases.map((phase) => phase.id);
    return askPhase({
      title: "Rewind",
      why: "The work of this phase and of all after it begins again.",
      phases,
      chosen: task.phase,
      label: "What should be different? (may stay empty)",
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
      why: "Its work is left out, and its gate is not asked.",
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
      text: "The agent is stopped. What it did stays on the branch, and Retry opens it again.",
      action: "Cancel the task",
      danger: true,
    }))
      ? { reason: "" }
      : null,
};

/** A larger budget in dollars; nothing is sent for what is no number. */
async function askBudget(task) {
  const text = await askText({
    title: `Retry ${task.id}`,
    label: "How many dollars may it use in all?",
    text: task.message,
    required: true,
    action: "Retry",
  });
  const budget_usd = Number(text?.replace(/[$,\s]/g, ""));
  if (text && !(budget_usd > 0)) refused(new Error(`${text} is no amount of dollars`));
  return budget_usd > 0 ? { budget_usd } : null;
}
