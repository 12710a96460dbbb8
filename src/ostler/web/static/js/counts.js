/** How many tasks there are of each kind, kept up to date for the bar, the title and the board. */

import { get } from "./api.js";
import { follow } from "./feed.js";

const PAUSE_MS = 1500;
const QUIET = new Set(["tool_used", "usage_reported", "iteration_started", "attempt_started", "agent_idle", "parse_error"]);
const watchers = new Set();
let counts = null;
let planned = false;

/** Calls `watcher(counts)` now, if they are loaded, and whenever they change. */
export function watchCounts(watcher, signal = undefined) {
  watchers.add(watcher);
  signal?.addEventListener("abort", () => watchers.delete(watcher), { once: true });
  if (counts) watcher(counts);
}

/** Counts from another response. */
export function countsCame(now) {
  if (counts && Object.keys(now).every((group) => now[group] === counts[group])) return;
  counts = now;
  for (const watcher of [...watchers]) watcher(counts);
}

/** A task went from one group to another: the counts follow at once, so that they agree if the server ends now. */
export function countMove(from, to) {
  if (counts && from in counts && to in counts) countsCame({ ...counts, [from]: counts[from] - 1, [to]: counts[to] + 1 });
}

/** Loads the counts now and after events. */
export function keepCounting() {
  follow((event) => QUIET.has(event.type) || plan());
  document.addEventListener("visibilitychange", () => document.hidden || plan());
  ask();
}

function plan() {
  if (planned) return;
  planned = true;
  setTimeout(ask, PAUSE_MS);
}

async function ask() {
  planned = false;
  if (document.hidden) return;
  try {
    countsCame((await get("/tasks", { limit: 1 })).counts);
  } catch {
    // The top bar shows the lost connection; the next event reloads.
  }
}
