/** The rows of a file's diff: one column, or the old and the new text side by side. */

import { pairLines } from "./pairs.js";
import { changedWords } from "./words.js";

/**
 * Rows from the items of FileLines: {type: "gap", item}, {type: "line", line} or, in two columns, {type: "pair", left, right}.
 * Lines that were changed get a `partner`.
 */
export function rowsOf(items, split) {
  const rows = [];
  for (let at = 0; at < items.length;) {
    const item = items[at];
    if (item.type === "gap") rows.push({ type: "gap", item });
    else if (item.kind === "same") rows.push(split ? { type: "pair", left: item, right: item } : { type: "line", line: item });
    else {
      const end = endOfRun(items, at);
      rows.push(...changedRows(items.slice(at, end), split));
      at = end - 1;
    }
    at += 1;
  }
  return rows;
}

/** The lines that a row shows. */
export function linesOfRow(row) {
  if (row.type === "gap") return [];
  return row.type === "line" ? [row.line] : [...new Set([row.left, row.right])].filter(Boolean);
}

/** The ranges of a line that differ from its partner, computed once. */
export function marksOf(line) {
  if (!line.partner) return [];
  if (!line.marks) {
    const [old, now] = line.kind === "removed" ? [line, line.partner] : [line.partner, line];
    [old.marks, now.marks] = changedWords(old.text, now.text) ?? [[], []];
  }
  return line.marks;
}

function endOfRun(items, at) {
  let end = at;
  while (end < items.length && items[end].type === "line" && items[end].kind !== "same") end += 1;
  return end;
}

function changedRows(run, split) {
  const pairs = pairLines(run.filter((line) => line.kind === "removed"), run.filter((line) => line.kind === "added"));
  for (const [old, now] of pairs) if (old && now) [old.partner, now.partner] = [now, old];
  if (!split) return run.map((line) => ({ type: "line", line }));
  return filled(pairs).map(([left, right]) => ({ type: "pair", left, right }));
}

/** Lines without a partner fill the empty places beside each other. */
function filled(pairs) {
  const rows = [];
  let [left, right] = [[], []];
  const flush = () => {
    for (let at = 0; at < Math.max(left.length, right.length); at += 1) rows.push([left[at] ?? null, right[at] ?? null]);
    [left, right] = [[], []];
  };
  for (const [old, now] of pairs) {
    if (old && now) {
      flush();
      rows.push([old, now]);
    } else if (old) left.push(old);
    else right.push(now);
  }
  flush();
  return rows;
}
