/** Rows of code as elements: numbers, the coloured text, and the comments below it. */

import { h } from "../../dom.js";
import { textNodes } from "../diff/line_text.js";
import { marksOf } from "../diff/rows.js";

/**
 * The elements of a row. `look` has: shape ("two" number columns, "one", or "split"), colours(line), extras(row) and the
 * functions of the buttons of gaps, reveal(item, how).
 */
export function rowNodes(row, index, look) {
  if (row.type === "gap") return [gapNode(row.item, index, look)];
  const node = row.type === "pair" ? pairNode(row, look) : lineNode(row.line, look);
  node.dataset.row = index;
  const extras = look.extras(row);
  return extras.length ? [node, ...extras] : [node];
}

/** Colours the text of a row that exists already. */
export function recolour(node, row, look) {
  const cells = node.querySelectorAll(".code-text:not(.void)");
  const lines = row.type === "pair" ? [row.left, row.right].filter(Boolean) : [row.line];
  lines.forEach((line, at) => cells[at].replaceChildren(...textNodes(line.text, look.colours(line), marksOf(line))));
}

function lineNode(line, look) {
  const node = made("div", "code-line", "row");
  node.dataset.kind = line.kind;
  if (look.shape === "two") node.append(numberCell("old", line.old, line), numberCell("new", line.now, line));
  else node.append(numberCell(line.kind === "removed" ? "old" : "new", line.now ?? line.old, line));
  node.append(codeCell(line, look));
  return node;
}

function pairNode({ left, right }, look) {
  const node = made("div", "code-line pair", "row");
  node.append(...half(left, "old", look), ...half(right, "new", look));
  return node;
}

function half(line, side, look) {
  if (!line) return [made("span", "code-num void", "cell"), made("span", "code-text void", "cell")];
  const number = numberCell(side, side === "old" ? line.old : line.now, line);
  const code = codeCell(line, look);
  if (line.kind !== "same") number.dataset.kind = code.dataset.kind = line.kind;
  return [number, code];
}

/** A line that both sides have is commented in the new text. */
function numberCell(side, number, line) {
  const cell = made("span", side === "old" ? "code-num num-old" : "code-num", "cell");
  if (number === null) return cell;
  cell.textContent = number;
  cell.dataset.side = line.kind === "removed" ? "old" : "new";
  cell.dataset.line = line.kind === "removed" ? line.old : line.now;
  return cell;
}

function codeCell(line, look) {
  const cell = made("span", line.bare ? "code-text is-bare" : "code-text", "cell");
  cell.append(...textNodes(line.text, look.colours(line), marksOf(line)));
  return cell;
}

function made(tag, name, role) {
  const node = document.createElement(tag);
  node.className = name;
  node.setAttribute("role", role);
  return node;
}

function gapNode(item, index, look) {
  const button = (how, sign, label) =>
    h("button", { class: "gap-step", type: "button", "aria-label": label, title: label, on: { click: () => look.reveal(item, how) } }, sign);
  const long = item.count === null || item.count > 40;
  const text = item.count === null ? "Show the lines below" : `${item.count.toLocaleString("en")} more line${item.count === 1 ? "" : "s"}`;
  return h("div", { class: "gap", role: "row", data: { row: index } },
    h("div", { role: "cell", class: "gap-cell" },
      h("button", { class: "gap-all", type: "button", on: { click: () => look.reveal(item, item.count === null ? "down" : "all") } },
        h("span", { "aria-hidden": "true" }, "↕ "), text),
      long && item.now > 1 && button("down", "↓ 20", "20 lines further down"),
      long && item.count !== null && button("up", "↑ 20", "20 lines further up"),
      item.title && h("span", { class: "gap-title cut" }, item.title)));
}
