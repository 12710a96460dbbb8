/** Performs actions on tasks, after asking for their parameters. */

import { post, taskPath } from "./api.js";
import { askText } from "./ask.js";
import { refused, notify } from "./toast.js";

const ASK = {
  reject: { title: "Reject", label: "What to change", required: true, action: "Reject" },
  reply: { title: "Reply", label: "Your answer", required: true, action: "Reply" },
  resume: { title: "Resume", label: "Feedback for the agent (optional)", action: "Resume" },
  retry: { title: "Retry", label: "New budget in US dollars (optional)", action: "Retry" },
};
const DONE = { approve: "Approved", reject: "Rejected", reply: "Answered", resume: "Resumes", retry: "Retried" };

/** Asks for the parameters, sends the action and shows the result. Returns the task, or null. */
export async function perform(verb, { id, title, message, code }) {
  const body = await wanted(verb, { message, code });
  if (body === null) return null;
  try {
    const task = await post(taskPath(id, verb === "reply" ? "resume" : verb), body);
    notify(`${DONE[verb]}: ${title}`);
    return task;
  } catch (error) {
    refused(error);
    return null;
  }
}

async function wanted(verb, { message, code }) {
  if (verb === "approve" || (verb === "retry" && code !== "BUDGET_EXCEEDED")) return {};
  const text = await askText({ ...ASK[verb], text: verb === "resume" ? "" : message });
  if (text === null) return null;
  if (verb !== "retry") return text ? { text } : {};
  return text ? { budget_usd: Number(text.replace(/^\$/, "")) } : {};
}
