/** Cards of comments: drafts of this review, and comments of earlier ones with what became of them. */

import { h } from "../dom.js";
import { inline } from "../markdown_inline.js";
import { reveal, revealed } from "../hidden.js";
import { KINDS, linesName } from "./parts.js";

export const STATES = {
  unchanged: { text: "Not changed", long: "Not changed since my review", tone: "warn" },
  changed: { text: "Changed", long: "Changed since my review", tone: "run" },
  probably_changed: { text: "Probably changed", long: "Probably changed here since my review", tone: "run" },
  moved: { text: "Moved", long: "Moved, not changed", tone: "warn" },
  deleted: { text: "Deleted", long: "Deleted since my review", tone: "run" },
  unknown: { text: "Not found", long: "The lines were not found again", tone: "warn" },
};
const ANSWERS = { changed: "changed it", answered: "", declined: "declined" };

/** A text of a person or an agent in paragraphs, with inline Markdown. */
export function prose(text) {
  return reveal(text).split(/\n{2,}/).map((part) => h("p", { class: "card-text" }, inline(part)));
}

/** A draft that is not being edited; `at` shows the place too. */
export function draftCard(draft, { edit, remove, round, isStray = false }) {
  return h("article", { class: "card-comment is-draft", "aria-label": `Your comment, ${linesName(draft.place)}` },
    h("div", { class: "row wrap" }, h("b", {}, "You"), h("span", { class: "muted" }, `round ${round}, not sent`), kindChip(draft.kind), byProgram(draft),
      (isStray || draft.place.end_line > draft.place.line) && h("span", { class: "muted" }, linesName(draft.place))),
    prose(draft.text),
    suggestionBlock(draft.suggestion),
    h("div", { class: "row card-end" },
      h("span", { class: "grow" }),
      h("button", { class: "btn quiet danger", type: "button", on: { click: remove } }, "Delete"),
      draft.place.path && h("button", { class: "btn", type: "button", on: { click: edit } }, "Edit")));
}

/** A comment of an earlier review. */
export function earlierCard(comment, { agent, person, round, resolve, reply, keepOpen }) {
  const state = STATES[comment.state] ?? STATES.unknown;
  return h("article", { class: "card-comment is-earlier", data: { resolved: String(comment.resolved), tone: state.tone }, "aria-label": `Comment ${comment.number} of review ${comment.review}` },
    h("div", { class: "row wrap" }, h("b", {}, comment.by === person ? "You" : comment.by), h("span", { class: "muted" }, `round ${comment.review}`), kindChip(comment.kind), byProgram(comment),
      h("span", { class: "chip plain", data: { tone: state.tone } }, state.long), comment.resolved && h("span", { class: "chip plain", data: { tone: "ok" } }, "Resolved")),
    prose(comment.text),
    suggestionBlock(comment.suggestion),
    excerptBlock(comment),
    sinceBlock(comment, round),
    replyText(comment.reply, agent),
    h("div", { class: "row wrap card-end" },
      h("button", { class: "btn quiet", type: "button", on: { click: reply } }, "Reply"),
      h("span", { class: "grow" }),
      comment.resolved
        ? h("button", { class: "btn", type: "button", on: { click: () => resolve(false) } }, "Open again")
        : [h("button", { class: "btn", type: "button", on: { click: keepOpen } }, "Still open"),
           h("button", { class: "btn good", type: "button", on: { click: () => resolve(true) } }, "Resolve")]));
}

/** A comment that an MCP client wrote for the person. */
export function byProgram({ via }) {
  return via === "mcp" && h("span", { class: "chip plain", title: "An MCP client wrote this comment for you." }, "through MCP");
}

export function kindChip(kind) {
  return h("span", { class: "chip plain" }, KINDS[kind] ?? kind);
}

function suggestionBlock(suggestion) {
  if (typeof suggestion !== "string") return null;
  const text = suggestion === "" ? h("p", { class: "since-line muted" }, "Delete these lines.") : lines(suggestion.split("\n").map((line) => `+${line}`));
  return h("div", { class: "since" }, h("p", { class: "since-head" }, "Suggested instead"), text);
}

/** The commented lines themselves, where they cannot be seen above the card. */
function excerptBlock({ state, excerpt, since, now }) {
  if (!excerpt?.length || since?.length || (now && ["unchanged", "moved"].includes(state))) return null;
  return h("details", { class: "since" }, h("summary", { class: "since-head" }, "The lines of the comment"), lines(excerpt.map((line) => ` ${line}`)));
}

function sinceBlock({ since, state }, round) {
  if (!since?.length) return null;
  const where = state === "unchanged" ? "Near these lines since then" : "Since then";
  return h("div", { class: "since" }, h("p", { class: "since-head" }, `${where}, in round ${round}`), lines(since));
}

function lines(texts) {
  const kind = { "+": "added", "-": "removed" };
  return texts.map((text) => h("p", { class: "since-line mono", data: { kind: kind[text[0]] ?? "same" } }, h("span", { class: "since-sign" }, text[0] === "-" ? "−" : text[0]), h("span", {}, revealed(text.slice(1)))));
}

function replyText(reply, agent) {
  if (!reply) return null;
  const did = ANSWERS[reply.status];
  return h("p", { class: "card-reply" }, h("b", {}, [agent || "Agent", did].filter(Boolean).join(" "), ": "), inline(reply.text), reply.where && h("span", { class: "mono" }, ` ${reply.where}`));
}
