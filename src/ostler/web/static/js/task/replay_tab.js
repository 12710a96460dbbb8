/** The replay of a task on its page: loads its logs, then plays them. */

import { get, taskPath } from "../api.js";
import { h, replace } from "../dom.js";
import { plural } from "../format.js";
import { createReplay } from "./replay.js";

const MOST_ENTRIES = 20_000;
const PAGE = 200;

/** The tab; `context()` gives {task, timeline, timelineView}. */
export function replayTab(id, context, signal) {
  const root = h("div", {});
  let made = null;
  const open = async () => {
    const { task, timeline, timelineView } = context();
    if (!task.attempts.length) return replace(root, h("p", { class: "empty" }, "Nothing to replay yet."));
    made?.close();
    const progress = h("p", { class: "muted", role: "status" }, "Loading…");
    replace(root, progress);
    const { logs, missing } = await readLogs(
      id,
      task.attempts,
      signal,
      (count) => (progress.textContent = `Loading… ${plural(count, "entry").replace("entrys", "entries")}`),
    );
    const stage = h("div", {});
    replace(root, missing && h("p", { class: "muted" }, missing), stage);
    made = createReplay(stage, { task, timeline, logs }, { timelineView, signal });
    return undefined;
  };
  return { node: root, open, seek: (time) => made?.seek(time), leave: () => made?.close() };
}

/** The logs of all attempts, up to the maximum number of entries. */
async function readLogs(id, attempts, signal, progress) {
  const logs = [];
  let count = 0;
  let missing = "";
  for (const { number } of attempts) {
    const { entries, left } = await readLog(id, number, MOST_ENTRIES - count, signal);
    count += entries.length;
    if (entries.length) logs.push({ number, entries });
    if (left)
      missing = `The replay has only the first ${MOST_ENTRIES.toLocaleString("en")} entries; the transcript has all of them.`;
    progress(count);
  }
  return { logs, missing };
}

async function readLog(id, number, most, signal) {
  const entries = [];
  for (let offset = 0; entries.length < most;) {
    const page = await get(taskPath(id, "attempts", number, "log"), { offset, limit: PAGE }, signal);
    entries.push(...page.entries);
    if (!page.entries.length || page.next >= page.size) return { entries, left: false };
    offset = page.next;
  }
  return { entries, left: true };
}
