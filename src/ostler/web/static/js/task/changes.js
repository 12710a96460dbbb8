/** The tab with the changes of a task, or with its document. */

import { h, replace } from "../dom.js";
import { mountChanges } from "../review/changes.js";
import { reviewPath } from "../review/path.js";

/** The tab; it loads the changes again when it is opened and the work may be different. `task()` is the shown task. */
export function changesTab(id, task, signal) {
  const root = h("div", { class: "task-changes" });
  let view = null;
  let shown = "";
  const open = async () => {
    const { commit, status, updated_at: at } = task();
    const now = [commit, status === "in_progress" ? at : ""].join();
    if (view && now === shown) return;
    shown = now;
    try {
      if (view) await view.load(0);
      else {
        view = await mountChanges(root, { task: id, signal });
        view.leading.append(h("a", { class: "btn", href: reviewPath(id), title: "Comment on lines, approve or send back" }, "Review"));
      }
    } catch (error) {
      shown = "";
      if (error.name !== "AbortError") replace(root, h("p", { class: "empty" }, error.message));
    }
  };
  return { node: root, open, find: () => view?.find.open() };
}
