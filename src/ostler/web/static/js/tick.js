/** Times that update themselves: the duration, the time since, and the time until. */

import { h } from "./dom.js";
import { ago, clock, span } from "./format.js";

const WORDS = {
  elapsed: (at, now) => span((now - at) / 1000),
  ago: (at, now) => ago(new Date(at).toISOString(), now),
  left: (at, now) => (at > now ? `in ${span((at - now) / 1000)}` : "now"),
};

/** A time that ticks while its page is shown: "elapsed", "ago" or "left". */
export function ticking(kind, time) {
  return setTicking(h("time", { class: "num", data: { tick: kind } }), time);
}

/** Sets another time of such an element. */
export function setTicking(node, time) {
  node.dateTime = time ?? "";
  tick(node, Date.now());
  return node;
}

/** Updates all times below `root`. */
export function keepTicking(root, signal) {
  const timer = setInterval(() => {
    if (document.hidden || document.body.dataset.server === "gone") return; // a state that is kept does not get older
    for (const node of root.querySelectorAll("[data-tick]")) tick(node, Date.now());
  }, 1000);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  root.addEventListener("pointerover", ({ target }) => target.dataset?.tick && showTip(target), { signal });
}

/** The full time of day, computed only when it is shown. */
function showTip(node) {
  node.title = node.dateTime ? clock(node.dateTime, true) : "";
}

function tick(node, now) {
  const text = node.dateTime ? WORDS[node.dataset.tick](Date.parse(node.dateTime), now) : "";
  if (node.textContent !== text) node.textContent = text;
}
