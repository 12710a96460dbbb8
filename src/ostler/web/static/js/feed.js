/**
 * The live feed, which continues at its position after a lost connection. A browser has six connections for all tabs of a
 * server, so only the first tabs keep one open; further ones poll every two seconds, until a connection is free.
 */

import { address, get } from "./api.js";

const SEATS = ["ostler-feed-1", "ostler-feed-2", "ostler-feed-3"];
const LOOK_MS = 2000;
const listeners = new Set();
const watchers = new Set();
let source = null;
let position = null;
let state = "connecting";

/** Calls `listener(event)` for every event from now on, until `signal` is aborted. */
export function follow(listener, signal) {
  listeners.add(listener);
  signal?.addEventListener("abort", () => listeners.delete(listener), { once: true });
}

/** Calls `watcher(state)` now and when the connection is "live", "connecting" or "lost". */
export function watchConnection(watcher) {
  watchers.add(watcher);
  watcher(state);
}

/** Starts after `after`, a position of the feed. */
export async function begin(after) {
  position ??= after;
  while (!(await takeSeat())) {
    await look();
    await new Promise((resume) => setTimeout(resume, LOOK_MS));
  }
  listen();
}

/** The browser itself sends Last-Event-ID when it reconnects. */
function listen() {
  if (source) source.close();
  source = new EventSource(address("/stream", { after: position }));
  source.onopen = () => setConnection("live");
  source.onmessage = (message) => receive(Number(message.lastEventId), JSON.parse(message.data));
  source.onerror = () => {
    setConnection(source.readyState === EventSource.CLOSED ? "lost" : "connecting");
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 3000);
  };
}

/** The events since then, page by page. */
async function look() {
  try {
    let page;
    do {
      page = await get("/events", { after: position });
      for (const event of page.events) receive(event.seq, event);
    } while (page.events.length);
    setConnection("live");
  } catch (error) {
    setConnection(error.status === 401 ? "lost" : "connecting");
  }
}

async function takeSeat() {
  if (!navigator.locks) return true;
  for (const seat of SEATS) if (await take(seat)) return true;
  return false;
}

/** Whether the connection was free; it is kept while the page is open. */
function take(seat) {
  return new Promise((resolve) => {
    navigator.locks.request(seat, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock && new Promise(() => {});
    });
  });
}

function receive(seq, event) {
  position = seq || position;
  for (const listener of [...listeners]) listener(event);
}

function setConnection(now) {
  if (now === state) return;
  state = now;
  for (const watcher of watchers) watcher(state);
}
