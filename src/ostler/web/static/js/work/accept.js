/** Merges, publishes or rebases the work of tasks, after the time to undo it. */

import { pathIn, post } from "../api.js";
import { plural } from "../format.js";
import { splitId } from "../place.js";
import { notify, refused } from "../toast.js";
import { holdDecision } from "../undo.js";

const REQUESTED = { merge: "To be merged", publish: "To be published", rebase: "To be rebased" };

/** Sends the request unless it is undone and shows what the server refused; resolves to the lines of the result, or null. */
export function acceptWork(items, how) {
  const name = items.length === 1 ? items[0].title : plural(items.length, "task");
  const send = (options) => sendAll(items, how, options);
  return holdDecision({ text: `${REQUESTED[how]}: ${name}`, tasks: items.map(({ id }) => id), send });
}

/** One request for each project: the inbox can show the tasks of several. */
async function sendAll(items, how, options) {
  const tasks = new Map();
  for (const { id } of items) {
    const { prefix, task } = splitId(id);
    tasks.set(prefix, [...(tasks.get(prefix) ?? []), task]);
  }
  const lines = [];
  for (const [prefix, ids] of tasks) {
    const answer = await post(pathIn(prefix, "/tasks/accept"), { tasks: ids, how }, undefined, options);
    if (answer.next) notify(`No process runs tasks. Run: ${answer.next}`);
    lines.push(...answer.tasks);
  }
  for (const line of lines) report(line);
  return lines;
}

function report({ id, result, message, hint }) {
  if (result.startsWith("already")) notify(`${id}: ${result}`);
  else if (!result.endsWith("requested")) refused({ message: `${id}: ${result}. ${message}`.trim(), hint });
}
