/** The line below the bar: the server is gone, or no process runs the tasks that wait. */

import { watchCounts } from "./counts.js";
import { h, replace } from "./dom.js";
import { plural } from "./format.js";
import { PREFIX } from "./place.js";
import { watchServer } from "./server_state.js";
import { copyText } from "./work/copy.js";

/** Draws it whenever it is needed; once. */
export function keepBanner() {
  const node = document.getElementById("banner");
  let server = null;
  let waiting = 0;
  watchServer((now) => {
    server = now;
    draw();
  });
  watchCounts((counts) => {
    waiting = counts.waiting;
    draw();
  });

  function draw() {
    const shown = textOf(server, waiting);
    document.body.dataset.server = server.gone ? "gone" : "there";
    node.hidden = !shown;
    node.dataset.tone = server.gone ? "bad" : "warn";
    const text = shown?.join(" ") ?? "";
    if (node.dataset.shown === text) return;
    node.dataset.shown = text;
    replace(node, shown && line(...shown));
  }
}

function textOf({ gone, activity }, waiting) {
  if (gone) return ["The server does not answer. This page shows its last state.", PREFIX ? "ostler serve --all" : "ostler serve"];
  if (activity?.is_active !== false || !waiting) return null;
  return [`No process runs tasks: ${plural(waiting, "task")} ${waiting === 1 ? "waits" : "wait"}.`, activity.command];
}

function line(text, command) {
  const copy = h("button", { class: "btn small-btn", type: "button", on: { click: () => copyText(command, command) } }, "Copy", h("span", { class: "hidden-text" }, ` ${command}`));
  return [h("span", {}, text), h("code", {}, command), copy];
}
