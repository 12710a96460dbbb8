/** What the call of an attempt meant for its phase. */

import { h, replace } from "../dom.js";

const VERDICTS = {
  complete: ["ok", "Complete"],
  blocked: ["warn", "Blocked"],
  continue: ["", "Not complete"],
  review: ["warn", "Needs review"],
  paused: ["warn", "Paused"],
  deferred: ["warn", "Deferred"],
  held: ["warn", "Waits for you"],
  failed: ["bad", "Failed"],
  interrupted: ["warn", "Interrupted"],
};

/** Shows the verdict of an attempt with its reason; hidden without one. */
export function drawVerdict(node, attempt) {
  const [tone, name] = VERDICTS[attempt.verdict] ?? ["", attempt.verdict];
  node.hidden = !attempt.verdict;
  node.dataset.tone = tone;
  replace(node, h("span", { class: "muted" }, "Result "), h("b", {}, name), attempt.reason && ` · ${attempt.reason}`);
}
