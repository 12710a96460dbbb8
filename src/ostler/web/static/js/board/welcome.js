/** The page of a project without tasks. */

import { watchCounts } from "../counts.js";
import { h } from "../dom.js";
import { openNewTask } from "../new_task.js";

/** Is shown only while there is no task. */
export function welcome(signal) {
  const node = h("section", { class: "card stack welcome", hidden: true },
    h("h2", {}, "No tasks yet"),
    h("p", { class: "muted" }, "Describe what to do. An agent works on it, and this page shows the progress."),
    h("div", { class: "row wrap" },
      h("button", { class: "btn primary", type: "button", on: { click: () => openNewTask() } }, "New task", h("kbd", {}, "n")),
      h("span", { class: "muted" }, "or in a terminal:"),
      h("code", {}, 'ostler new "Fix the login redirect"')));
  watchCounts((counts) => (node.hidden = Object.values(counts).some(Boolean)), signal);
  return node;
}
