/** The keys of the board: from task to task, and the actions on the focused one. */

import { bind } from "../keys.js";
import { notify } from "../toast.js";
import { verbOfKey } from "../work/answers.js";
import { openMenuOf } from "../work/menu.js";

const GROUP = "Tasks";

/**
 * `sections()` are the lists in their order, each with rows, focus(index) and focused(); the focused index ends with .5 when the
 * task left, and is between its neighbours then. `answer(verb, row)` performs an action; `move(by)` moves the focused waiting task;
 * `selected()` are the columns, which select completed tasks, or null.
 */
export function boardKeys({ sections, answer, move, selected, search, signal }) {
  const on = (combo, description, run) => bind(combo, description, run, { group: GROUP, signal });
  on("j", "Next task", () => step(sections(), 1));
  on("k", "Previous task", () => step(sections(), -1));
  on("l", "Column to the right", () => jump(sections(), 1));
  on("h", "Column to the left", () => jump(sections(), -1));
  on("Enter", "Open the task", () => false);
  on("a", "Approve", () => press(sections(), answer, "a"));
  on("m", "Merge, also approve and merge", () => selected()?.press("m") || press(sections(), answer, "m"));
  on("x", "Select completed work", () => selected()?.select(false) ?? false);
  on("X", "Select from the last selected one", () => selected()?.select(true) ?? false);
  on("s", "Send back", () => press(sections(), answer, "s"));
  on("r", "Reply, resume, retry, send a conflict to the agent", () => press(sections(), answer, "r"));
  on(".", "Open the menu of the task", openMenu);
  on("e", "Edit the task", () => press(sections(), answer, "e"));
  on("K", "Move a waiting task up in the queue", () => move(-1));
  on("J", "Move a waiting task down in the queue", () => move(1));
  on("/", "Search", () => search.focus());
  on("Escape", "Leave the search or the task", () => selected()?.clearSelection() || document.activeElement?.blur());
}

/** Keeps the focused task in the history, so that Back returns to it; `restore()` focuses it once its card is drawn. */
export function rememberFocus(sections, root) {
  const kept = history.state?.task;
  root.addEventListener("focusin", ({ target }) => {
    const task = target.closest("[data-task]")?.dataset.task;
    if (task) history.replaceState({ ...history.state, task }, "");
  });
  return function restore() {
    const free = [document.body, document.getElementById("main")].includes(document.activeElement);
    if (kept && free) sections().some((section) => section.focus(section.rows.findIndex(({ id }) => id === kept)));
  };
}

/** Moves the focus to the next or the previous task. */
export function step(sections, by) {
  const { at, index } = here(sections);
  if (at < 0) return void first(sections);
  if (sections[at].focus(by > 0 ? Math.floor(index + by) : Math.ceil(index + by))) return;
  for (let next = at + by; next >= 0 && next < sections.length; next += by) {
    if (sections[next].focus(by > 0 ? 0 : sections[next].rows.length - 1)) return;
  }
}

function jump(sections, by) {
  const { at, index } = here(sections);
  if (at < 0) return void first(sections);
  for (let next = at + by; next >= 0 && next < sections.length; next += by) {
    if (sections[next].focus(Math.min(Math.floor(Math.max(0, index)), sections[next].rows.length - 1))) return;
  }
}

function first(sections) {
  sections.some((section) => section.focus(0));
}

/** Performs the action that a key has for the focused task; never on a task that the person did not focus. */
export function press(sections, answer, key) {
  const { at, index } = here(sections);
  const row = sections[at]?.rows[index];
  if (!row) return void notify("Select a task first: j and k move.");
  const verb = verbOfKey(row, key);
  if (verb) answer(verb, row);
}

/** Opens the menu of the focused task. */
export function openMenu() {
  return openMenuOf(document.activeElement?.closest("[data-task]"));
}

/** The section with the focused task, and its index there. */
export function here(sections) {
  const at = sections.findIndex((section) => section.focused() > -1);
  return { at, index: at < 0 ? -1 : sections[at].focused() };
}
