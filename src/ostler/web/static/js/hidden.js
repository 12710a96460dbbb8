/** Characters that are not visible, or that change the order of what is: code must look like what it is. */

// Control characters but tab and the end of a line; directions of text; spaces without width; line separators; tags.
// U+200C and U+200D stay: scripts and emojis need them.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]|\r(?!$|\n)/gu;

const HIDDEN_IN_NAMES = new RegExp(`${HIDDEN.source}|[\\t\\n\\r]`, "gu");

/** The text with the name of each such character in its place, such as [U+202E]. */
export const reveal = (text) => text.replace(HIDDEN, nameOf);

/** The same for the name of a file. */
export const revealName = (name) => name.replace(HIDDEN_IN_NAMES, nameOf);

/** Nodes for a text in which these names are marked. */
export const revealed = (text) => replaced(text, HIDDEN, marked);

/** The same for the name of a file, where tabs and ends of lines are no more visible. */
export const revealedName = (name) => replaced(name, HIDDEN_IN_NAMES, marked);

/** The same for a part of a line that changed, where a tab and a carriage return at the end are differences. */
export function revealedChange(text) {
  const end = text.endsWith("\r") ? [marked("\r")] : [];
  const whole = end.length ? text.slice(0, -1) : text;
  return [...replaced(whole, /\t/g, tab).flatMap((part) => (typeof part === "string" ? revealed(part) : [part])), ...end];
}

function replaced(text, pattern, make) {
  const nodes = [];
  let at = 0;
  for (const { 0: found, index } of text.matchAll(pattern)) {
    nodes.push(text.slice(at, index), make(found));
    at = index + found.length;
  }
  return nodes.length ? [...nodes, text.slice(at)] : [text];
}

/** Its arrow is drawn by the style sheet: the text stays a tab. */
function tab() {
  const node = document.createElement("span");
  node.className = "tab-character";
  node.textContent = "\t";
  return node;
}

function marked(found) {
  const node = document.createElement("span");
  node.className = "hidden-character";
  node.textContent = nameOf(found);
  return node;
}

function nameOf(found) {
  return `[U+${found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`;
}
