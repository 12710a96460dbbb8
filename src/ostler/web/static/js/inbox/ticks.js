/** The size of a change, and the verdicts of gates, in one line. */

import { h, replace } from "../dom.js";
import { plural } from "../format.js";

const MARKS = { pass: "✓", overruled: "✓", fail: "✗", could_not_run: "!", not_checked: "–", skipped: "–" };
const WORDS = { pass: "passed", overruled: "overruled", fail: "failed", could_not_run: "could not run", not_checked: "not checked", skipped: "skipped" };

/** An element for the size of a change. */
export const sizeOfChange = () => h("span", { class: "change-size num", hidden: true });

/** Writes the size; hidden without a commit. */
export function setSize(node, size) {
  const text = size ? `${size.files} +${size.additions} -${size.deletions}` : "";
  if (node.dataset.shown === text) return;
  node.dataset.shown = text;
  node.hidden = !size;
  if (!size) return;
  replace(
    node,
    plural(size.files, "file"),
    h("span", { class: "added", "aria-label": plural(size.additions, "added line") }, ` +${size.additions}`),
    h("span", { class: "removed", "aria-label": plural(size.deletions, "removed line") }, ` −${size.deletions}`),
  );
}

/** An element for the verdicts of gates. */
export const gateTicks = () => h("span", { class: "gate-ticks row wrap" });

/** Writes the verdicts; one about an older commit is marked. */
export function setGates(node, gates) {
  const shown = JSON.stringify(gates);
  if (node.dataset.shown === shown) return;
  node.dataset.shown = shown;
  replace(node, gates.map(tick));
}

function tick({ name, verdict, reason, current }) {
  const words = `${name}: ${WORDS[verdict] ?? verdict}${current ? "" : ", of an older commit"}${reason ? `. ${reason}` : ""}`;
  const props = { class: "gate-tick", title: words, data: { verdict: current ? verdict : "old" } };
  return h("span", props, h("span", { "aria-hidden": "true" }, `${MARKS[verdict] ?? "?"} `), name, h("span", { class: "hidden-text" }, words.slice(name.length)));
}
