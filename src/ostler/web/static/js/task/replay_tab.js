/** The replay of a task on its page, which reads the logs as it plays them. */

import { get, taskPath } from "../api.js";
import { h, replace } from "../dom.js";
import { createReplay } from "./replay.js";
import { ReplayLog } from "./replay_log.js";

/** The tab; `context()` gives {task, timeline, timelineView}. */
export function replayTab(id, context, signal) {
  const root = h("div", {});
  let made = null;
  const open = async () => {
    const { task, timeline, timelineView } = context();
    if (!task.attempts.length) return replace(root, h("p", { class: "empty" }, "Nothing to replay yet."));
    made?.close();
    replace(root, h("p", { class: "muted", role: "status" }, "Loading…"));
    const read = (number, offset, limit) => get(taskPath(id, "attempts", number, "log"), { offset, limit }, signal);
    const source = new ReplayLog(task.attempts, read);
    const part = await source.around(timeline.start);
    const stage = h("div", {});
    replace(root, stage);
    made = createReplay(stage, { task, timeline, ...part }, { source, timelineView, signal });
    return undefined;
  };
  return { node: root, open, seek: (time) => made?.seek(time), leave: () => made?.close() };
}
