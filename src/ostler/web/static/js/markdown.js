/** Markdown as nodes: built, never parsed as HTML, in linear time. */

import { h } from "./dom.js";
import { reveal } from "./hidden.js";
import { inline } from "./markdown_inline.js";

const MOST = 200_000;
const MOST_PLAIN = 1000;
const BLOCKS = "p, li, pre, td, th, h3, h4, h5, h6, .md";
const DEEPEST = 6;
const MOST_COLUMNS = 50;
const ABOVE = 2; // level of the heading above a text: a heading of a text is one level deeper at most

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])([ \t]+|$)(.*)$/;
const BOX = /^\[([ xX])\] /;
const DELIMITER = /^[ \t:|-]+$/;

/**
 * The text of an agent as an element; hidden characters are named in it. The end of a very long text is plain text. With `lines`, every block and every
 * item of a list has the numbers of its first and last line in `data-line` and `data-end`.
 */
export function markdown(text, { lines = false } = {}) {
  const place = { depth: 0, line: lines ? 1 : null, heads: { last: ABOVE } };
  const read = text.slice(0, MOST).split(lines ? /\r?\n/ : /\r\n|[\n\r\u2028\u2029]/).map(reveal);
  const root = h("div", { class: "md" }, blocks(read, place));
  if (text.length > MOST) root.append(h("pre", {}, reveal(text.slice(MOST))));
  return root;
}

/** The beginning of a text of an agent on one line, without its marks. */
export function plainText(text) {
  const walker = document.createTreeWalker(markdown(text.slice(0, MOST_PLAIN)), NodeFilter.SHOW_TEXT);
  const parts = [];
  let last = null;
  while (walker.nextNode()) {
    const block = walker.currentNode.parentElement.closest(BLOCKS);
    parts.push(block === last ? "" : " ", walker.currentNode.data);
    last = block;
  }
  return parts.join("").replace(/\s+/g, " ").trim();
}

/** The blocks of these lines; `place` has the depth and the number of the first line, null without numbers. */
function blocks(lines, place) {
  const made = [];
  for (let at = 0; at < lines.length;) {
    const [node, next] = block(lines, at, place);
    if (node) made.push(numbered(node, lines, at, next, place));
    at = next;
  }
  return made;
}

/** Blank lines at the end of a block are not part of it. */
function numbered(node, lines, at, next, { line }) {
  if (line === null) return node;
  let end = Math.min(next, lines.length);
  while (end > at + 1 && !lines[end - 1].trim()) end -= 1;
  Object.assign(node.dataset, { line: line + at, end: line + end - 1 });
  return node;
}

const within = ({ depth, line, heads }, lines) => ({ depth: depth + 1, line: line === null ? null : line + lines, heads });

function block(lines, at, place) {
  if (!lines[at].trim()) return [null, at + 1];
  const readers = place.depth < DEEPEST ? [fence, heading, rule, quote, list, table] : [fence, heading, rule, table];
  for (const read of readers) {
    const found = read(lines, at, place);
    if (found) return found;
  }
  return paragraph(lines, at);
}

function fence(lines, at) {
  const open = fenceOf(lines[at]);
  if (!open) return null;
  let end = at + 1;
  while (end < lines.length && !closes(lines[end], open.mark)) end += 1;
  return [codeBlock(lines.slice(at + 1, end).join("\n"), open.language), end + 1];
}

function fenceOf(line) {
  const found = FENCE.exec(line);
  if (!found || found[2].includes("`")) return null;
  return { mark: found[1], language: found[2].trim().split(" ", 1)[0].slice(0, 30) };
}

function closes(line, mark) {
  const found = FENCE.exec(line);
  return Boolean(found) && found[1].startsWith(mark) && !found[2].trim();
}

function codeBlock(text, language) {
  const label = language && h("figcaption", { class: "md-language" }, language);
  return h("figure", { class: "md-code" }, label, h("pre", { tabindex: "0" }, h("code", { data: { language } }, text)));
}

function heading(lines, at, { heads }) {
  const found = HEADING.exec(lines[at]);
  if (!found) return null;
  const level = Math.min(6, found[1].length + ABOVE, heads.last + 1);
  heads.last = level;
  return [h(`h${level}`, { class: "md-heading", data: { level: found[1].length } }, inline(found[2])), at + 1];
}

function rule(lines, at) {
  return RULE.test(lines[at]) ? [h("hr"), at + 1] : null;
}

function quote(lines, at, place) {
  if (!QUOTE.test(lines[at])) return null;
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ""));
  return [h("blockquote", {}, blocks(inner, within(place, at))), end];
}

function list(lines, at, place) {
  const first = itemOf(lines[at]);
  if (!first) return null;
  const items = [];
  let end = at;
  while (end < lines.length) {
    const item = itemOf(lines[end]);
    if (!item || item.ordered !== first.ordered || item.indent > first.indent + 1) break;
    const [body, next] = itemBody(lines, end, item);
    items.push(numbered(listItem(body, within(place, end)), lines, end, next, place));
    end = next;
  }
  const start = first.ordered && first.number !== 1 ? first.number : null;
  return [h(first.ordered ? "ol" : "ul", { start }, items), end];
}

function itemOf(line) {
  const found = ITEM.exec(line);
  if (!found || RULE.test(line)) return null;
  const gap = found[3].length > 4 || !found[4] ? 1 : found[3].length;
  const ordered = found[2].length > 1;
  const number = ordered ? Number.parseInt(found[2], 10) : 0;
  return { indent: found[1].length, inside: found[1].length + found[2].length + gap, ordered, number };
}

/** The lines of one item without its indent, and the index after it. */
function itemBody(lines, at, item) {
  const body = [lines[at].slice(item.inside)];
  let end = at + 1;
  for (; end < lines.length; end += 1) {
    const line = lines[end];
    if (!line.trim()) {
      if (!lines[end + 1]?.trim() || indentOf(lines[end + 1]) < item.inside) break;
    } else if (indentOf(line) < item.inside && (startsBlock(line) || !body.at(-1).trim())) break;
    body.push(line.slice(Math.min(indentOf(line), item.inside)));
  }
  while (end < lines.length && !lines[end].trim() && itemOf(lines[end + 1] ?? "")) end += 1;
  return [body, end];
}

function listItem(body, place) {
  const box = BOX.exec(body[0]);
  if (!box) return h("li", {}, tight(blocks(body, place)));
  const tick = h("input", { type: "checkbox", disabled: true, checked: box[1] !== " ", "aria-label": "done" });
  return h("li", { class: "md-task" }, tick, tight(blocks([body[0].slice(4), ...body.slice(1)], place)));
}

/** A single paragraph in an item has no margins. */
function tight(made) {
  if (made[0]?.tagName === "P") made[0].classList.add("md-tight");
  return made;
}

function table(lines, at) {
  const under = lines[at + 1] ?? "";
  if (!lines[at].includes("|") || !DELIMITER.test(under) || !under.includes("-")) return null;
  const head = cells(lines[at]);
  const sides = cells(under).map(sideOf);
  if (sides.length !== head.length) return null;
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && lines[end].trim()) end += 1;
  const rows = lines.slice(at + 2, end).map((line) => cells(line).slice(0, head.length));
  const row = (tag) => (texts) =>
    h(
      "tr",
      {},
      texts.map((text, column) => h(tag, { class: sides[column] }, inline(text))),
    );
  return [
    h(
      "div",
      { class: "md-table" },
      h("table", {}, h("thead", {}, row("th")(head)), h("tbody", {}, rows.map(row("td")))),
    ),
    end,
  ];
}

const sideOf = (text) => (text.endsWith(":") ? (text.startsWith(":") ? "md-middle" : "md-right") : null);

function cells(line) {
  const inner = line.trim().replace(/^\|/, "");
  const found = inner.replaceAll("\\|", "\u0000").split("|");
  if (!found.at(-1).trim()) found.pop();
  return found.slice(0, MOST_COLUMNS).map((cell) => cell.replaceAll("\u0000", "|").trim());
}

function paragraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !startsBlock(lines[end])) end += 1;
  const text = lines
    .slice(at, end)
    .map((line) => line.trim())
    .join("\n");
  return [h("p", {}, inline(text)), end];
}

const startsBlock = (line) =>
  Boolean(fenceOf(line)) || HEADING.test(line) || QUOTE.test(line) || RULE.test(line) || Boolean(itemOf(line));

function indentOf(line) {
  let count = 0;
  while (line[count] === " " || line[count] === "\t") count += 1;
  return count;
}
