/** Keeps the drawings of a page up to date. */

import { follow } from "../feed.js";

const PAUSE_MS = 1000;

/**
 * Draws `draw(await load())` now, behind events for which `concerns(event)` holds (at most once a second), and
 * every `seconds` while the tab is visible. The returned function reloads at once. Ends with `signal`.
 */
export async function keepFresh({ load, draw, root, signal, concerns = () => false, seconds = 0 }) {
  let shown = "";
  let asked = null;

  async function refresh() {
    const given = await load(signal);
    const text = JSON.stringify(given);
    if (signal.aborted || text === shown) return;
    shown = text;
    keepFocus(root, () => draw(given));
  }

  function later(wait = PAUSE_MS) {
    asked ??= setTimeout(() => {
      asked = null;
      if (!signal.aborted && !document.hidden) refresh().catch(() => later(5 * PAUSE_MS));
    }, wait);
  }

  await refresh();
  follow((event) => concerns(event) && later(), signal);
  document.addEventListener("visibilitychange", () => later(0), { signal });
  if (seconds) every(seconds, () => later(0), signal);
  return refresh;
}

/** Calls `run` every so many seconds until `signal` is aborted. */
export function every(seconds, run, signal) {
  const timer = setInterval(run, seconds * 1000);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}

/** Draws, and gives the focus back to the element with the same `data-key`. */
function keepFocus(root, draw) {
  const key = root.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  draw();
  if (key === undefined) return;
  giveBack(root, key);
  // drawings that depend on the width are drawn later
  requestAnimationFrame(() => requestAnimationFrame(() => giveBack(root, key)));
}

function giveBack(root, key) {
  if (document.activeElement !== document.body) return;
  root.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}
