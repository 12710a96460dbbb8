/** Search, filters and the choice of board or list, kept in the URL. */

import { h, icon } from "../dom.js";
import { FILTER, SEARCH } from "../drawings.js";
import { keepInAddress } from "../router.js";
import { pipelineChoice, priorityChoice, statusChoice } from "./choices.js";
import { keptView, viewSwitch } from "./view_switch.js";
import { viewsMenu } from "./views_menu.js";

const TYPING_MS = 200;
const SORTS = ["updated", "created", "priority", "cost"];

/** The filters of the URL, and the view that was used last. */
export function readFilters(query) {
  const param = (name) => query.get(name) ?? "";
  return {
    q: param("q"),
    status: param("status"),
    priority: param("priority"),
    pipeline: param("pipeline"),
    sort: SORTS.includes(param("sort")) ? param("sort") : "updated",
    view: (param("view") || keptView()) === "list" ? "list" : "board",
  };
}

/** Whether they exclude some tasks. */
export const areNarrow = ({ q, status, priority, pipeline }) => Boolean(q || status || priority || pipeline);

/** The line of controls; `changed()` is called when `filters` has other values. */
export function filterLine(filters, changed, signal) {
  const search = searchField(filters.q, (q) => take({ q }));
  const choices = {
    status: statusChoice(filters.status),
    priority: priorityChoice(filters.priority),
    pipeline: pipelineChoice(filters.pipeline, signal),
  };
  for (const [name, select] of Object.entries(choices)) {
    select.addEventListener("change", () => take({ [name]: select.value }));
  }
  const parts = [searchBox(search), more(), ...Object.values(choices), viewsMenu(), viewSwitch(filters.view, (view) => take({ view }))];
  return { node: h("div", { class: `filters row${areNarrow(filters) ? " open" : ""}` }, parts), search, take };

  function take(changes) {
    Object.assign(filters, changes);
    const { view, sort, ...rest } = filters;
    keepInAddress({ ...rest, sort: sort === "updated" ? "" : sort, view: view === "list" ? view : "" });
    changed();
  }
}

/** A field that calls `typed(text)` when the person pauses. */
export function searchField(value, typed) {
  const props = { type: "search", placeholder: "Search", "aria-label": "Search tasks (/)", autocomplete: "off", spellcheck: "false" };
  const field = h("input", { ...props, value });
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => typed(field.value.trim()), TYPING_MS);
  });
  return field;
}

/** The field with its icon and its key. */
export function searchBox(search) {
  return h("div", { class: "search" }, icon(SEARCH), search, h("kbd", { class: "key", "aria-hidden": "true" }, "/"));
}

/** On a phone the filters are shown on demand. */
function more() {
  const press = ({ currentTarget }) => currentTarget.parentElement.classList.toggle("open");
  const props = { class: "btn square filters-more", type: "button", title: "Filters", on: { click: press } };
  return h("button", props, icon(FILTER), h("span", { class: "hidden-text" }, "Filters"));
}
