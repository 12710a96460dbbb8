/** Performs actions on tasks, after asking for their parameters and the time to undo them. */

import { post, taskPath } from "./api.js";
import { askText } from "./ask.js";
import { moveInQueue } from "./board/queue_moves.js";
import { editTask } from "./edit_task.js";
import { reasonOf } from "./task/question.js";
import { notify, refused } from "./toast.js";
import { holdDecision } from "./undo.js";
import { acceptWork } from "./work/accept.js";
import { copyText } from "./work/copy.js";

const ASK = {
  reject: { title: "Send back", label: "What to change", required: true, action: "Send back" },
  reply: { title: "Reply", label: "Your answer", required: true, action: "Reply" },
  resume: { title: "Resume", label: "Feedback for the agent (optional)", action: "Resume" },
  retry: { title: "Retry", label: "New budget in US dollars (optional)", action: "Retry" },
};
const PROPOSAL = { title: "Reject", label: "The reason", required: true, action: "Reject" };
const QUEUE = { queue_first: "first", queue_last: "last" };
const THEN = { approve_merge: "merge", approve_pr: "pr" };
const ACTION = { reply: "resume", solve: "resume", approve_merge: "approve", approve_pr: "approve" };
const DONE = {
  approve_merge: "Approved, to be merged", approve_pr: "Approved, with a pull request", solve: "Sent to the agent", approve: "Approved", reject: "Sent back", reply: "Answered", resume: "Resumes", retry: "Retried",
};

/** Asks for the parameters and sends the action unless it is undone. Returns the task, or null. */
export async function perform(verb, item) {
  if (["merge", "publish", "rebase"].includes(verb)) return acceptWork([item], verb);
  if (verb === "copy") return void copyText(item.conflict.person.join("\n"), "the commands");
  if (verb === "undo") return takeBack(item);
  if (verb === "edit") return editTask(item);
  if (verb in QUEUE) return moveInQueue(item, QUEUE[verb]);
  const body = await wanted(verb, item);
  return body === null ? null : hold(verb, item, body);
}

/** Sends an answer to the agent's question unless it is undone. Returns the task, or null. */
export function performReply(item, text) {
  return hold("reply", item, { text });
}

/** With the time since when the task waits, the server refuses the action if it is in another state now. */
function hold(verb, { id, title, held, waiting_since: since }, body) {
  const done = held && verb === "reject" ? "Rejected" : DONE[verb];
  const path = taskPath(id, ACTION[verb] ?? verb) + (since ? `?waiting_since=${encodeURIComponent(since)}` : "");
  const send = (options) => post(path, body, undefined, options);
  const draft = { id: crypto.randomUUID(), text: body.text };
  const keep = verb === "reject" ? () => post(taskPath(id, "review", "comments"), draft) : null;
  return holdDecision({ text: `${done}: ${title}`, tasks: [id], send, keep });
}

/** Takes back an approval or a request that no run has begun to act on. */
async function takeBack({ id, title }) {
  try {
    const task = await post(taskPath(id, "undo"));
    notify(`Taken back: ${title}`);
    return task;
  } catch (error) {
    refused(error);
    return null;
  }
}

async function wanted(verb, item) {
  const { title, question, code, conflict, held } = item;
  if (verb in THEN) return { then: THEN[verb] };
  if (verb === "solve") return { text: conflict.agent };
  if (verb === "approve" || (verb === "retry" && code !== "BUDGET_EXCEEDED")) return {};
  const text = await askText({ ...(held && verb === "reject" ? PROPOSAL : ASK[verb]), about: title, text: verb === "resume" ? "" : question || reasonOf(item) });
  if (text === null) return null;
  if (verb !== "retry") return text ? { text } : {};
  return text ? { budget_usd: Number(text.replace(/^\$/, "")) } : {};
}
