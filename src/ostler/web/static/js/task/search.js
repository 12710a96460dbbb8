/** Search in the loaded part of a transcript. */

import { h } from "../dom.js";
import { plural } from "../format.js";

const LEAST_LETTERS = 2;
const WAIT_MS = 150;

/** A field that finds entries; `transcript()` is the visible one. */
export function searchField(transcript) {
  const state = { hits: [], at: -1 };
  const field = h("input", {
    type: "search",
    class: "find-field",
    placeholder: "Find in the loaded part",
    "aria-label": "Find in the loaded part of the transcript",
  });
  const count = h("span", { class: "find-count muted num", role: "status" });
  let waiting = 0;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => look(state, transcript(), field.value, count), WAIT_MS);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") next(state, transcript(), field.value, count, event.shiftKey ? -1 : 1);
    if (event.key === "Escape") field.blur();
  });
  return { node: h("div", { class: "find row" }, field, count), focus: () => field.focus() };
}

/** Whether the visible text of an entry contains these letters. */
export function matches(entry, words) {
  const parts = [entry.text, entry.tool, entry.detail, entry.message, entry.input && JSON.stringify(entry.input)];
  return parts.some((part) => part && part.toLowerCase().includes(words));
}

function look(state, transcript, text, count) {
  const words = text.trim().toLowerCase();
  state.at = -1;
  const hits = words.length < LEAST_LETTERS ? [] : transcript.entries.filter((entry) => matches(entry, words));
  state.hits = [...new Set(hits.map((entry) => transcript.nodeOf(entry)).filter(Boolean))];
  count.textContent =
    words.length < LEAST_LETTERS
      ? ""
      : `${plural(state.hits.length, "hit")} in ${plural(transcript.entries.length, "loaded entry").replace("entrys", "entries")}`;
  paint(state.hits, words);
}

function next(state, transcript, text, count, step) {
  if (state.at < 0 || state.hits.some((node) => !node.isConnected)) look(state, transcript, text, count);
  if (!state.hits.length) return;
  state.at =
    state.at < 0 ? (step > 0 ? 0 : state.hits.length - 1) : (state.at + step + state.hits.length) % state.hits.length;
  transcript.setFollow(false);
  transcript.point(state.hits[state.at]);
  count.textContent = `${state.at + 1} of ${state.hits.length} in the loaded part`;
  paint(state.hits, text.trim().toLowerCase());
}

/** Marks the letters without changing the page, if the browser supports it. */
function paint(nodes, words) {
  if (!globalThis.CSS?.highlights) return;
  CSS.highlights.delete("found");
  const ranges = words.length < LEAST_LETTERS ? [] : nodes.flatMap((node) => rangesIn(node, words)).slice(0, 500);
  if (ranges.length) CSS.highlights.set("found", new Highlight(...ranges));
}

function rangesIn(node, words) {
  const found = [];
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.toLowerCase();
    for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + words.length)) {
      const range = new Range();
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, Math.min(at + words.length, walker.currentNode.length));
      found.push(range);
    }
  }
  return found;
}
