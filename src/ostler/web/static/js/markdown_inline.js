/** Inline Markdown as nodes: code, emphasis and links. */

import { h } from "./dom.js";

const DEEPEST = 5;
const LONGEST_LABEL = 1000;
const LONGEST_ADDRESS = 2000;
const ESCAPABLE = "\\`*_{}[]()#+-.!|~<>";
const BARE = /https?:\/\/[^\s<>"'`|\\]+/iy;
const MARKS = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "del"],
  ["*", "em"],
  ["_", "em"],
];

/** The nodes and strings of a line. */
export function inline(text, depth = 0) {
  const scan = { text, depth, find: finder(text), out: [], plain: "" };
  for (let at = 0; at < text.length;) at = step(scan, at);
  flush(scan);
  return scan.out;
}

/** indexOf that never searches the same part twice for the same needle: hostile text takes linear time. */
function finder(text) {
  const known = new Map();
  return (needle, from) => {
    const last = known.get(needle);
    if (last !== undefined && (last === -1 || last >= from)) return last;
    const found = text.indexOf(needle, from);
    known.set(needle, found);
    return found;
  };
}

function step(scan, at) {
  const read = READERS[scan.text[at]];
  const end = read ? read(scan, at) : 0;
  if (end) return end;
  scan.plain += scan.text[at];
  return at + 1;
}

function flush(scan) {
  if (scan.plain) scan.out.push(scan.plain);
  scan.plain = "";
}

function put(scan, node, end) {
  flush(scan);
  scan.out.push(node);
  return end;
}

function escaped(scan, at) {
  const next = scan.text[at + 1];
  if (!next || !ESCAPABLE.includes(next)) return 0;
  scan.plain += next;
  return at + 2;
}

function code(scan, at) {
  let size = 1;
  while (scan.text[at + size] === "`") size += 1;
  const mark = "`".repeat(Math.min(size, 8));
  const close = scan.find(mark, at + size);
  if (close < 0 || size > 8) {
    scan.plain += scan.text.slice(at, at + size);
    return at + size;
  }
  const inside = scan.text.slice(at + size, close);
  return put(scan, h("code", {}, inside.length > 2 ? inside.replace(/^ | $/g, "") : inside), close + size);
}

function emphasis(scan, at) {
  const { text, depth, find } = scan;
  const [mark, tag] = MARKS.find(([one]) => text.startsWith(one, at)) ?? [];
  if (!mark || depth >= DEEPEST || !opens(text, at, mark)) return 0;
  const found = find(mark, at + mark.length + 1);
  if (found < 0 || !ends(text, found, mark)) return 0;
  const close = mark.length > 1 && text[found + 2] === mark[0] ? found + 1 : found;
  return put(scan, h(tag, {}, inline(text.slice(at + mark.length, close), depth + 1)), close + mark.length);
}

function opens(text, at, mark) {
  const next = text[at + mark.length];
  if (!next || /\s/.test(next) || (next === mark[0] && mark.length === 1)) return false;
  return mark[0] !== "_" || !isWord(text[at - 1]);
}

function ends(text, close, mark) {
  if (/\s/.test(text[close - 1])) return false;
  return mark[0] !== "_" || !isWord(text[close + mark.length]);
}

const isWord = (letter) => letter !== undefined && /[\p{L}\p{N}_]/u.test(letter);

function link(scan, at) {
  const { text, find, depth } = scan;
  const middle = find("](", at);
  if (middle < 0 || middle - at > LONGEST_LABEL || depth >= DEEPEST) return 0;
  const nested = find("[", at + 1);
  if (nested >= 0 && nested < middle) return 0;
  const close = find(")", middle);
  if (close < 0 || close - middle > LONGEST_ADDRESS) return 0;
  const label = inline(text.slice(at + 1, middle), depth + 1);
  const target = text
    .slice(middle + 2, close)
    .trim()
    .split(/\s/, 1)[0];
  return put(scan, isWeb(target) ? anchor(target, label) : h("span", { title: target }, label), close + 1);
}

function image(scan, at) {
  return scan.text[at + 1] === "[" ? link(scan, at + 1) : 0;
}

function bare(scan, at) {
  if (isWord(scan.text[at - 1])) return 0;
  BARE.lastIndex = at;
  const found = BARE.exec(scan.text)?.[0];
  if (!found) return 0;
  const target = trimmed(found);
  return put(scan, anchor(target, [target]), at + target.length);
}

/** Without the punctuation that belongs to the sentence around it. */
function trimmed(target) {
  let end = target.length;
  while (end > 8 && ".,;:!?*_]".includes(target[end - 1])) end -= 1;
  if (target[end - 1] === ")" && !target.includes("(")) end -= 1;
  return target.slice(0, end);
}

const isWeb = (target) => /^https?:\/\/[^\s]/i.test(target);

function anchor(href, label) {
  return h("a", { href, target: "_blank", rel: "noopener noreferrer" }, label);
}

const READERS = {
  "\\": escaped,
  "`": code,
  "*": emphasis,
  _: emphasis,
  "~": emphasis,
  "[": link,
  "!": image,
  h: bare,
  H: bare,
};
