/** The input and the result of a tool; edits and patches as coloured lines. */

import { h } from "../dom.js";
import { diffView } from "./diff.js";
import { editLines, looksLikePatch, patchLines } from "./patch.js";
import { todoList, todosOf } from "./todo_list.js";
import { relativePath } from "./tool_words.js";

const ESCAPES = /\u001b(?:\[[0-9;?]*[A-Za-z]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?)/g;
const EDITS = [
  "edits",
  "changes",
  "old_string",
  "oldString",
  "old_str",
  "oldText",
  "old",
  "new_string",
  "newString",
  "new_str",
  "newText",
  "new",
  "content",
  "contents",
  "file_text",
];
const PATCHES = ["patch", "diff", "unified_diff"];

/** The input of a call; the server adds its edits in one format for all agents. */
export function toolInput(call) {
  const rest = { ...call.input };
  const todos = todosOf(rest);
  if (todos) delete rest.todos;
  const parts = [...edits(rest, call.edits ?? []), ...patches(rest), ...commands(rest)];
  const left = Object.entries(rest).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  if (todos) parts.unshift(todoList(todos));
  if (left.length) parts.unshift(h("dl", { class: "tool-facts" }, left.map(fact)));
  return parts;
}

/** The result of a tool. */
export function toolOutput(answer) {
  const text = (answer.text ?? "").replace(ESCAPES, "");
  const cut = answer.truncated && h("p", { class: "faint" }, "The middle of this output was not kept.");
  if (!text.trim()) return h("p", { class: "faint" }, "No output.");
  const shown = looksLikePatch(text)
    ? diffView(patchLines(text))
    : h("pre", { class: "tool-output", tabindex: "0" }, text);
  return h(
    "div",
    { class: "tool-answer", data: { failed: String(Boolean(answer.failed)) } },
    h("h4", {}, answer.failed ? "Output (failed)" : "Output"),
    shown,
    cut,
  );
}

/** The edits as coloured lines; their arguments are not shown twice. */
function edits(rest, found) {
  if (found.length) for (const name of EDITS) delete rest[name];
  const paths = new Set(found.map((edit) => edit.path));
  return found.flatMap((edit) => [
    paths.size > 1 && h("h4", { class: "mono" }, edit.path),
    diffView(editLines(edit.old, edit.new)),
  ]);
}

function patches(rest) {
  const found = PATCHES.filter((name) => typeof rest[name] === "string");
  const bare = ["input", "text", "command"].filter((name) => typeof rest[name] === "string" && isPatch(rest[name]));
  return [...found, ...bare].map((name) => diffView(patchLines(take(rest, name))));
}

function commands(rest) {
  const command = take(rest, "command", "cmd");
  if (command === undefined) return [];
  const text = Array.isArray(command)
    ? command.join(" ")
    : typeof command === "string"
      ? command
      : JSON.stringify(command);
  return [h("pre", { class: "tool-command", tabindex: "0" }, `$ ${text}`)];
}

const isPatch = (text) => text.startsWith("*** Begin Patch") || looksLikePatch(text);

function take(rest, ...names) {
  const name = names.find((one) => one in rest);
  if (name === undefined) return undefined;
  const value = rest[name];
  delete rest[name];
  return value;
}

function fact([name, value]) {
  const text = typeof value === "string" ? relativePath(value) : JSON.stringify(value, null, 2);
  return h("div", {}, h("dt", {}, name), h("dd", { class: "mono" }, text));
}
