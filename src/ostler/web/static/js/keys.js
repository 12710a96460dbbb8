/** One registry of keyboard shortcuts; the help dialog lists what is bound at the moment. */

const SEQUENCE_MS = 1200;
const bound = [];
let begun = "";
let begunAt = 0;

/**
 * Binds `combo` ("n", "g b", "Enter", "Escape") until `signal` is aborted. The latest binding of a combo is used.
 * If `run` returns false, the browser handles the key.
 */
export function bind(combo, description, run, { group = "Everywhere", signal } = {}) {
  const one = { combo, description, run, group };
  bound.push(one);
  signal?.addEventListener("abort", () => bound.splice(bound.indexOf(one), 1), { once: true });
}

/** The current bindings by group, each combo once. */
export function shortcuts() {
  const groups = new Map();
  for (const one of latest()) groups.set(one.group, [...(groups.get(one.group) ?? []), one]);
  return groups;
}

function latest() {
  return bound.filter((one) => bound.findLast((other) => other.combo === one.combo) === one);
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
  const combo = prefix(event) + event.key;
  const one = bound.findLast((other) => other.combo === combo) ?? bound.findLast((other) => other.combo === event.key);
  begun = "";
  if (one && one.run(event) !== false) event.preventDefault();
  else if (begins(event.key)) [begun, begunAt] = [`${event.key} `, event.timeStamp];
});

function prefix(event) {
  return event.timeStamp - begunAt < SEQUENCE_MS ? begun : "";
}

function begins(key) {
  return bound.some((one) => one.combo.startsWith(`${key} `));
}

/** In a field every key is text, and in a dialog the dialog handles every key; a button keeps its own keys. */
function isTyping({ target, key }) {
  if (document.querySelector("dialog[open]")) return true;
  if (target.closest?.("input, textarea, select, [contenteditable]")) return key !== "Escape";
  return (key === "Enter" || key === " ") && Boolean(target.closest?.("button, a, summary"));
}
