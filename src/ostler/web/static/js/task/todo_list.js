/** The todo list that an agent keeps. */

import { h } from "../dom.js";

const MARKS = { completed: "✓", in_progress: "●", cancelled: "–" };
const WORDS = { completed: "done", in_progress: "in progress", cancelled: "cancelled", pending: "open" };

/** The list as an element; `todos` are {text, status}. */
export function todoList(todos) {
  return h("ul", { class: "todos" }, todos.map(({ text, status }) =>
    h("li", { data: { todo: status } },
      h("span", { class: "todo-mark", "aria-hidden": "true" }, MARKS[status] ?? "○"),
      h("span", {}, text, h("span", { class: "hidden-text" }, `, ${WORDS[status] ?? status}`)))));
}

/** 2 of 5 done */
export function doneText(todos) {
  return `${todos.filter(({ status }) => status === "completed").length} of ${todos.length} done`;
}

/** The list in the input of a tool, or null if it has another form. */
export function todosOf(input) {
  const { todos } = input ?? {};
  if (!Array.isArray(todos) || !todos.length) return null;
  const found = todos.map((one) => ({ text: one?.content ?? one?.text ?? one?.title, status: one?.status ?? "pending" }));
  return found.every(({ text }) => typeof text === "string") ? found : null;
}
