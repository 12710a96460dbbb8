/** What a person can do for a task, with the questions that go before it. */

import { post, taskPath } from "./api.js";
import { askText } from "./ask.js";
import { refused, said } from "./toast.js";

const ASK = {
  reject: { title: "Send it back", label: "What should be different?", required: true, action: "Reject" },
  reply: { title: "Reply", label: "Your answer", required: true, action: "Reply" },
  resume: { title: "Go on", label: "A word for the agent; may be empty", action: "Resume" },
  retry: { title: "Try again", label: "A new budget in dollars; empty: as before", action: "Retry" },
};
const DONE = { approve: "Approved", reject: "Sent back", reply: "Answered", resume: "Goes on", retry: "Tries again" };

/** Asks what is missing, tells the server, says how it went. Gives the task as it is now, or null. */
export async function perform(verb, { id, title, message, code }) {
  const body = await wanted(verb, { message, code });
  if (body === null) return null;
  try {
    const task = await post(taskPath(id, verb === "reply" ? "resume" : verb), body);
    said(`${DONE[verb]}: ${title}`);
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
