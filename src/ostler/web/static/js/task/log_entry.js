/** One entry of an attempt log. */

import { h } from "../dom.js";
import { clock, money, span, tokens } from "../format.js";
import { markdown } from "../markdown.js";
import { refusal } from "../refusal.js";
import { doneText, todoList } from "./todo_list.js";

const MARK = /<(\w{1,40})_(complete|blocked)>([\s\S]{0,2000}?)<\/\1_\2>/g;
const ENDS = { succeeded: "Succeeded", failed: "Failed", interrupted: "Interrupted", running: "Running" };

/** The length of a wait, if the agent reported it. */
const delay = (seconds) => (seconds ? ` ${span(seconds)}` : "");

/** The name of an entry in an address: attempt and byte offset. */
export const anchorOf = (number, entry) => `a${number}-${entry.offset}`;

/** The entry of an anchor, or null. */
export function readAnchor(hash) {
  const found = /^#?a(\d+)-(\d+)$/.exec(hash);
  return found && { number: Number(found[1]), offset: Number(found[2]) };
}

/** The frame of an entry: its time in the margin, and `body` beside it. */
export function framed(entry, number, start, body) {
  const id = anchorOf(number, entry);
  const when = h(
    "a",
    { class: "entry-time mono", href: `#${id}`, title: `${clock(entry.at, true)} · link to this entry` },
    sinceStart(entry.at - start),
  );
  return h(
    "div",
    { class: "entry", id, data: { type: entry.type, offset: entry.offset, at: entry.at } },
    when,
    h("div", { class: "entry-body" }, body),
  );
}

/** The content of an entry that is not a tool; null for one that is not shown. */
export function entryBody(entry) {
  const write = WRITERS[entry.type];
  return write ? write(entry) : unknown(entry);
}

const WRITERS = {
  attempt_began: (entry) =>
    note(
      "began",
      "Attempt ",
      h("b", {}, entry.number),
      ` · ${entry.phase}, iteration ${entry.iteration} · ${[entry.executor, entry.model].filter(Boolean).join(" · ")}`,
    ),
  session_started: (entry) =>
    note(
      "faint",
      "Session ",
      h("code", {}, entry.session_id),
      entry.model && ` · ${entry.model}`,
      entry.version && ` · ${entry.version}`,
    ),
  text_received: (entry) => textEntry(entry.text ?? ""),
  thinking_received: (entry) => folded("Thinking", entry.text ?? "", markdown(entry.text ?? "")),
  todos_reported: ({ todos = [] }) => folded("Todo list", doneText(todos), todoList(todos)),
  tool_denied: (entry) => note("warn", "Not allowed: ", h("b", {}, entry.tool), " ", h("code", {}, entry.detail ?? "")),
  retry_reported: (entry) =>
    note("warn", `Waiting${delay(entry.delay_seconds)} for its provider (${entry.code ?? "retry"})`),
  usage_reported: () => null,
  session_replaced: (entry) =>
    note(
      "warn",
      entry.resumed ? "The session exists already and continues: " : "The session was lost; a new session starts: ",
      h("code", {}, entry.session_id),
    ),
  access_refused: (entry) => note("warn", refusal(entry)),
  warning_raised: (entry) => note("warn", entry.message),
  attempt_ended: ended,
};

/** The agent's text; the mark that ends a phase is shown as text. */
function textEntry(text) {
  const marks = [...text.matchAll(MARK)].map(([, , word, inside]) =>
    note(
      word === "complete" ? "ok" : "warn",
      word === "complete" ? "Reports the phase as complete" : `Reports that it is blocked: ${inside.trim()}`,
    ),
  );
  const rest = marks.length ? text.replace(MARK, "") : text;
  return marks.length ? [rest.trim() ? markdown(rest) : null, marks] : markdown(text);
}

/** A name and the beginning of a text on one line, which opens. */
function folded(name, text, body) {
  const first = text.trim().slice(0, 300).replace(/\s+/g, " ");
  return h("details", { class: "entry-fold" }, h("summary", {}, h("b", {}, name), " ", h("span", { class: "muted" }, first)), body);
}

function note(tone, ...parts) {
  return h("p", { class: "entry-note", data: { tone } }, parts);
}

function ended(entry) {
  const used = entry.usage ? tokens((entry.usage.input_tokens ?? 0) + (entry.usage.output_tokens ?? 0)) : "0";
  const facts = [
    entry.seconds !== undefined && `after ${span(entry.seconds)}`,
    `${used} tokens`,
    entry.cost_usd !== null && entry.cost_usd !== undefined && money(entry.cost_usd),
  ];
  return h(
    "div",
    { class: "entry-end", data: { status: entry.status } },
    h("b", {}, ENDS[entry.status] ?? entry.status),
    h("span", { class: "muted" }, facts.filter(Boolean).join(" · ")),
    entry.code && h("code", {}, entry.code),
    entry.message && h("p", {}, entry.message),
  );
}

function unknown(entry) {
  const { offset, at, type, ...rest } = entry;
  return h("details", { class: "entry-unknown" }, h("summary", {}, type), h("pre", {}, JSON.stringify(rest, null, 2)));
}

function sinceStart(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (value) => String(value).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  return `${hours ? `${hours}:${two(Math.floor(whole / 60) % 60)}` : Math.floor(whole / 60)}:${two(whole % 60)}`;
}
