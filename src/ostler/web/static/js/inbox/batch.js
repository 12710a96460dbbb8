/** One decision about several tasks. */

import { post, taskPath } from "../api.js";
import { plural } from "../format.js";
import { notify, refused } from "../toast.js";
import { holdDecision } from "../undo.js";
import { acceptWork } from "../work/accept.js";

const DONE = { approve: "Approved", retry: "Retried", resume: "Resumed" };

/** Sends the action for each task unless it is undone; reports those that the server refused. Resolves to the sent ones. */
export function decideAll(verb, items) {
  if (verb === "merge") return acceptWork(items, verb);
  const send = async (options) => {
    const answers = await Promise.allSettled(items.map((item) => post(pathOf(verb, item), {}, undefined, options)));
    const failed = answers.map(({ reason }, at) => reason && { reason, item: items[at] }).filter(Boolean);
    for (const { reason, item } of failed) refused({ name: reason.name, message: `${item.title}: ${reason.message}`, hint: reason.hint });
    const sent = items.length - failed.length;
    if (failed.length && sent) notify(`${DONE[verb]}: ${plural(sent, "task")}`);
    return sent;
  };
  return holdDecision({ text: `${DONE[verb]}: ${plural(items.length, "task")}`, tasks: items.map(({ id }) => id), send });
}

function pathOf(verb, { id, waiting_since: since }) {
  return `${taskPath(id, verb)}?waiting_since=${encodeURIComponent(since)}`;
}
