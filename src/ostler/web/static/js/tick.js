/** Times that go on by themselves: how long something runs, how long ago it was, how long until it is. */

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

/** Gives such an element another time. */
export function setTicking(node, time) {
  node.dateTime = time ?? "";
  tick(node, Date.now());
  return node;
}

/** Lets all that are below `root` tick. */
export function keepTicking(root, signal) {
  const timer = setInterval(() => {
    if (document.hidden) return;
    for (const node of root.querySelectorAll("[data-tick]")) tick(node, Date.now());
  }, 1000);
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
  root.addEventListener("pointerover", ({ target }) => target.dataset?.tick && tell(target), { signal });
}

/** The time of day in full, worked out only when it is looked at. */
function tell(node) {
  node.title = node.dateTime ? clock(node.dateTime, true) : "";
}

function tick(node, now) {
  const text = node.dateTime ? WORDS[node.dataset.tick](Date.parse(node.dateTime), now) : "";
  if (node.textContent !== text) node.textContent = text;
}
