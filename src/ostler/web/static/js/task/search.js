/** The field that searches all transcripts of a task, and the marks in what is visible. */

import { h } from "../dom.js";

const WAIT_MS = 200;
const MOST_MARKS = 500;

/** Letters that a search needs. */
export const LEAST_LETTERS = 2;

/** `on` gets search(text), which may be empty, step(1 or -1), and close(). */
export function searchField(on) {
  const field = h("input", { type: "search", class: "find-field", placeholder: "Search all transcripts", "aria-label": "Search all transcripts of this task", title: "Search (/), next result: Enter" });
  let waiting = 0;
  const search = () => {
    clearTimeout(waiting);
    on.search(field.value.trim());
  };
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, WAIT_MS);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") on.step(event.shiftKey ? -1 : 1);
    if (event.key !== "Escape") return;
    event.stopPropagation();
    field.value = "";
    clearTimeout(waiting);
    field.blur();
    on.close();
  });
  return { node: h("div", { class: "find row" }, field), focus: () => (field.focus(), field.select()) };
}

/** Marks the letters below these nodes without changing the page, if the browser supports it. */
export function markText(nodes, text) {
  if (!globalThis.CSS?.highlights) return;
  CSS.highlights.delete("found");
  const words = text.toLowerCase();
  const ranges = words.length < LEAST_LETTERS ? [] : nodes.flatMap((node) => rangesIn(node, words)).slice(0, MOST_MARKS);
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
