/** Search and filters of the inbox, kept in the address. */

import { pipelineChoice, priorityChoice } from "../board/choices.js";
import { areNarrow, searchBox, searchField } from "../board/filters.js";
import { viewsMenu } from "../board/views_menu.js";
import { h } from "../dom.js";
import { keepInAddress } from "../router.js";

/** The line of controls; `changed(filters)` is called with other values. Without `ofProject`, there is only the search. */
export function inboxFilters(query, { ofProject, changed, signal }) {
  const filters = Object.fromEntries(["q", "priority", "pipeline"].map((name) => [name, query.get(name) ?? ""]));
  const search = searchField(filters.q, (q) => take({ q }));
  const choices = ofProject ? { priority: priorityChoice(filters.priority), pipeline: pipelineChoice(filters.pipeline, signal) } : {};
  for (const [name, select] of Object.entries(choices)) select.addEventListener("change", () => take({ [name]: select.value }));
  const node = h("div", { class: "filters inbox-filters row open" }, searchBox(search), Object.values(choices), ofProject && viewsMenu());
  return { node, search, filters, get areNarrow() { return areNarrow(filters); } };

  function take(changes) {
    Object.assign(filters, changes);
    keepInAddress(filters);
    changed(filters);
  }
}
