/** The keys of the review page. */

import { bind } from "../keys.js";

const GROUP = "This review";

/** Binds them until the signal of the page is aborted. `page` is a ReviewPage. */
export function bindKeys(page) {
  const { changes, decision, head, signal } = page;
  const { cursor } = changes;
  const on = (keys, description, run) => {
    const [first, ...others] = keys;
    bind(first, description, run, { group: GROUP, signal });
    for (const key of others) bind(key, "", run, { group: GROUP, signal });
  };
  on(["j"], "Next line", () => void cursor.move(1));
  on(["k"], "Previous line", () => void cursor.move(-1));
  on(["J", "n"], "Next file (also n)", () => void cursor.moveFile(1));
  on(["K", "p"], "Previous file (also p)", () => void cursor.moveFile(-1));
  on(["c"], "Comment on the line or the selected lines", () => page.comment());
  on(["e"], "Show the lines of a gap, or unfold the file", () => page.expand());
  on(["v"], "Mark the file as viewed", () => page.toggleViewed());
  on(["u"], "Unified or split", () => changes.setLayout(changes.layout === "split" ? "unified" : "split"));
  on(["/"], "Find in the changes (also Ctrl F)", () => changes.find.open());
  on(["]"], "Next task that waits", () => head.goNext());
  on(["["], "Previous task", () => head.goBack());
  on(["S", "s"], "Send back with the comments", () => void decision.sendBack());
  on(["A", "a"], "Approve", () => void decision.approve());
  on(["R", "r"], "Let the agent solve the conflict", () => decision.solve());
  on(["Escape"], "Close what is open", () => page.escape());
  document.addEventListener("keydown", (event) => special(event, page), { signal });
}

/** Shift and an arrow select lines; Ctrl F opens our search, because the browser's one finds only rows that exist. */
function special(event, page) {
  if (document.querySelector("dialog[open]")) return;
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key === "f") {
    event.preventDefault();
    page.changes.find.open();
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !event.shiftKey || event.target.closest?.("input, textarea, select")) return;
  event.preventDefault();
  page.changes.cursor.move(step, { extend: true });
}
