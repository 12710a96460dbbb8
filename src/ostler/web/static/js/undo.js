/** Holds a decision for a few seconds before it is sent, so that it can be undone. */

import { groupAfter } from "./board/happened.js";
import { follow } from "./feed.js";
import { bind } from "./keys.js";
import { notify, refused, showHeld } from "./toast.js";

const GROUP = "Decisions";
const watchers = new Set();
let held = null;

/**
 * Shows `text` with an Undo button and calls `send({keepalive})` after `seconds`; at once when the page is closed or another
 * decision is made. `tasks` are the ids that it is about: if one of them is decided elsewhere meanwhile, nothing is sent, and
 * `keep()` saves its text, if there is one.
 * Resolves to what `send` returned, or null if nothing was sent or the server refused it; a message has the reason.
 */
export function holdDecision({ text, send, seconds = 5, tasks = [], keep = null }) {
  flush();
  const keys = new AbortController();
  return new Promise((resolve) => {
    held = { text, send, tasks: new Set(tasks), keep, keys, resolve };
    held.toast = showHeld(text, seconds, undo);
    held.timer = setTimeout(() => flush(), seconds * 1000);
    bind("u", "Undo the last decision", undo, { group: GROUP, signal: keys.signal });
    changed();
  });
}

/** Whether a decision about this task is not sent yet. */
export const isHeld = (task) => Boolean(held?.tasks.has(task));

/** Calls `watcher()` when a decision begins or ends to be held, until `signal` is aborted. */
export function watchHeld(watcher, signal) {
  watchers.add(watcher);
  signal?.addEventListener("abort", () => watchers.delete(watcher), { once: true });
}

function undo() {
  const one = release();
  if (!one) return false;
  one.resolve(null);
  notify(`Undone: ${one.text}`);
  return true;
}

/** Sends the held decision now. */
function flush(keepalive = false) {
  const one = release();
  if (one) deliver(one, keepalive);
}

async function deliver({ text, send, resolve }, keepalive) {
  try {
    const answer = await send({ keepalive });
    notify(text);
    resolve(answer);
  } catch (error) {
    refused(error);
    resolve(null);
  }
}

function release() {
  if (!held) return null;
  const one = held;
  held = null;
  clearTimeout(one.timer);
  one.keys.abort();
  one.toast.remove();
  changed();
  return one;
}

function changed() {
  for (const watcher of [...watchers]) watcher();
}

/** A decision of another tab or another person replaces the held one. */
async function receive(event) {
  if (!isHeld(event.task_id) || (event.type !== "decision_recorded" && !groupAfter(event))) return;
  const one = release();
  one.resolve(null);
  const decided = `${event.task_id} was decided elsewhere${event.by ? ` by ${event.by}` : ""}.`;
  try {
    await one.keep?.();
    refused({ message: `Not sent: ${one.text}`, hint: one.keep ? `${decided} Your text is kept as a draft of its review.` : decided });
  } catch (error) {
    refused({ message: `Not sent: ${one.text}`, hint: `${decided} Your text is not kept: ${error.message}.` });
  }
}

follow(receive);
addEventListener("pagehide", () => flush(true));
