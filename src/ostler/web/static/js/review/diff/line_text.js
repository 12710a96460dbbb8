/** The text of a line as nodes: coloured, with the words that differ marked. */

import { revealed, revealedChange } from "../../hidden.js";

const LONGEST = 20_000; // characters of a line that are shown

/** Spans and strings; `colours` and `marks` are flat lists of start, end, class and pairs of start, end. */
export function textNodes(text, colours = [], marks = []) {
  const shown = text.length > LONGEST ? text.slice(0, LONGEST) : text;
  const nodes = pieces(shown, colours, marks).flatMap(([part, name, marked]) => {
    if (!name && !marked) return revealed(part);
    const node = document.createElement("span");
    node.className = [name && `t-${name}`, marked && "word"].filter(Boolean).join(" ");
    node.append(...(marked ? revealedChange(part) : revealed(part)));
    return node;
  });
  if (shown !== text) nodes.push(`… ${(text.length - LONGEST).toLocaleString("en")} more characters`);
  return nodes;
}

/** [text, class, marked], cut at every end of a range. */
function pieces(text, colours, marks) {
  const found = [];
  let at = 0;
  let [colour, mark] = [0, 0];
  while (at < text.length) {
    while (colour < colours.length && colours[colour + 1] <= at) colour += 3;
    while (mark < marks.length && marks[mark][1] <= at) mark += 1;
    const [start, stop, name] = colours.slice(colour, colour + 3);
    const [from, to] = marks[mark] ?? [];
    const [coloured, marked] = [start <= at, from <= at];
    const ends = [coloured ? stop : start, marked ? to : from, text.length].filter((end) => end > at);
    const end = Math.min(...ends);
    found.push([text.slice(at, end), coloured ? name : "", marked]);
    at = end;
  }
  return found;
}
