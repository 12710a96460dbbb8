/** Whether the server answers, and whether any process runs tasks: checked regularly, and when the connection changes. */

import { get } from "./api.js";
import { follow, watchConnection } from "./feed.js";

const EVERY_MS = 20_000;
const PATIENCE_MS = 2500; // a connection that is back within it was never gone
const watchers = new Set();
let state = { gone: false, activity: null, problems: [] };

/** Calls `watcher({gone, activity, problems})` now and when it changes, until `signal` is aborted. */
export function watchServer(watcher, signal = undefined) {
  watchers.add(watcher);
  signal?.addEventListener("abort", () => watchers.delete(watcher), { once: true });
  watcher(state);
}

/** Whether no process runs tasks, as far as is known. */
export const isIdle = () => state.activity?.is_active === false;

/** Starts checking; `first` is ostler.session/1. */
export function keepChecking(first) {
  take(first);
  let timer = 0;
  watchConnection((connection) => {
    clearTimeout(timer);
    if (connection === "live") askServer();
    else timer = setTimeout(askServer, PATIENCE_MS);
  });
  follow(({ type }) => type === "task_claimed" && isIdle() && askServer());
  setInterval(askServer, EVERY_MS);
  document.addEventListener("visibilitychange", askServer);
}

/** Checks now. */
export async function askServer() {
  if (document.hidden) return;
  try {
    take(await get("/session"));
  } catch (error) {
    if (error.code === "NETWORK") set({ ...state, gone: true });
  }
}

function take({ activity, problems }) {
  set({ gone: false, activity, problems });
}

function set(now) {
  if (JSON.stringify(now) === JSON.stringify(state)) return;
  state = now;
  for (const watcher of [...watchers]) watcher(state);
}
