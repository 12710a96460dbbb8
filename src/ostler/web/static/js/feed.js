/** The live feed: one connection for the whole page, which goes on where it was after a break. */

import { address } from "./api.js";

const listeners = new Set();
const watchers = new Set();
let source = null;
let position = null;
let state = "connecting";

/** Calls `listener(event)` for everything that happens from now on, until `signal` is aborted. */
export function follow(listener, signal) {
  listeners.add(listener);
  signal?.addEventListener("abort", () => listeners.delete(listener), { once: true });
}

/** Calls `watcher(state)` now and when the connection is "live", "connecting" or "lost". */
export function watchConnection(watcher) {
  watchers.add(watcher);
  watcher(state);
}

/** Begins behind `after`, a position of the feed. The browser itself sends Last-Event-ID when it reconnects. */
export function begin(after) {
  position ??= after;
  if (source) source.close();
  source = new EventSource(address("/stream", { after: position }));
  source.onopen = () => tell("live");
  source.onmessage = (message) => hear(message);
  source.onerror = () => {
    tell(source.readyState === EventSource.CLOSED ? "lost" : "connecting");
    if (source.readyState === EventSource.CLOSED) setTimeout(() => begin(position), 3000);
  };
}

function hear(message) {
  position = Number(message.lastEventId) || position;
  const event = JSON.parse(message.data);
  for (const listener of [...listeners]) listener(event);
}

function tell(now) {
  if (now === state) return;
  state = now;
  for (const watcher of watchers) watcher(state);
}
