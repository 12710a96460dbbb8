/** The keys of the board: from task to task, and the actions on the focused one. */

import { bind } from "../keys.js";

const GROUP = "Tasks";

/** `sections()` are the lists in their order, each with rows, focus(index) and focused(); `answer(verb, row)`. */
export function boardKeys({ sections, answer, search, signal }) {
  const on = (combo, description, run) => bind(combo, description, run, { group: GROUP, signal });
  on("j", "Next task", () => step(sections(), 1));
  on("k", "Previous task", () => step(sections(), -1));
  on("l", "Column to the right", () => jump(sections(), 1));
  on("h", "Column to the left", () => jump(sections(), -1));
  on("Enter", "Open the task", () => false);
  on("a", "Approve", () => perform(sections(), answer, { approve: "approve" }));
  on("x", "Reject", () => perform(sections(), answer, { approve: "reject" }));
  on("r", "Reply, resume, retry", () => perform(sections(), answer, { reply: "reply", resume: "resume", retry: "retry" }));
  on("/", "Search", () => search.focus());
  on("Escape", "Leave the search or the task", () => document.activeElement?.blur());
}

function step(sections, by) {
  const { at, index } = here(sections);
  if (at < 0) return void first(sections);
  if (sections[at].focus(index + by)) return;
  for (let next = at + by; next >= 0 && next < sections.length; next += by) {
    if (sections[next].focus(by > 0 ? 0 : sections[next].rows.length - 1)) return;
  }
}

function jump(sections, by) {
  const { at, index } = here(sections);
  if (at < 0) return void first(sections);
  for (let next = at + by; next >= 0 && next < sections.length; next += by) {
    if (sections[next].focus(Math.min(index, sections[next].rows.length - 1))) return;
  }
}

function first(sections) {
  sections.some((section) => section.focus(0));
}

/** Performs the action that the task needs; without a focused task, focuses the first one. */
function perform(sections, answer, verbs) {
  const { at, index } = here(sections);
  if (at < 0) return void first(sections);
  const row = sections[at].rows[index];
  if (row.asks in verbs) answer(verbs[row.asks], row);
}

function here(sections) {
  const at = sections.findIndex((section) => section.focused() >= 0);
  return { at, index: at < 0 ? -1 : sections[at].focused() };
}
