/** One registry of keyboard shortcuts; the help dialog lists what is bound at the moment. */

const SEQUENCE_MS = 1200;
const bound = [];
let begun = "";
let begunAt = 0;

/**
 * Binds `combo` ("n", "g b", "Ctrl+k", "Enter", "Escape") until `signal` is aborted. The latest binding of a combo is used.
 * If `run` returns false, the browser handles the key.
 */
export function bind(combo, description, run, { group = "Everywhere", signal } = {}) {
  const one = { combo, description, run, group };
  bound.push(one);
  signal?.addEventListener("abort", () => bound.splice(bound.indexOf(one), 1), { once: true });
}

/** The current bindings by group, each combo once; those without a description are another key for the same. */
export function shortcuts() {
  const groups = new Map();
  for (const one of latest()) if (one.description) groups.set(one.group, [...(groups.get(one.group) ?? []), one]);
  return groups;
}

function latest() {
  return bound.filter((one) => bound.findLast((other) => other.combo === one.combo) === one);
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.altKey) return;
  if (event.ctrlKey || event.metaKey) return void withCtrl(event);
  if (isTyping(event)) return;
  const combo = prefix(event) + event.key;
  const one = bound.findLast((other) => other.combo === combo) ?? bound.findLast((other) => other.combo === event.key);
  begun = "";
  if (one && one.run(event) !== false) event.preventDefault();
  else if (begins(event.key)) [begun, begunAt] = [`${event.key} `, event.timeStamp];
});

/** A key with Ctrl, or with Cmd, acts in fields too, but not below an open dialog. */
function withCtrl(event) {
  const one = bound.findLast(({ combo }) => combo === `Ctrl+${event.key.toLowerCase()}`);
  if (!one || event.shiftKey || document.querySelector("dialog[open]")) return;
  if (one.run(event) !== false) event.preventDefault();
}

function prefix(event) {
  return event.timeStamp - begunAt < SEQUENCE_MS ? begun : "";
}

function begins(key) {
  return bound.some((one) => one.combo.startsWith(`${key} `));
}

/** In a field every key is text, and a dialog or a menu handles every key while it is open; a button and a checkbox keep their own keys. */
function isTyping({ target, key }) {
  if (document.querySelector("dialog[open], :popover-open")) return true;
  if (target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]")) return key !== "Escape";
  return (key === "Enter" || key === " ") && Boolean(target.closest?.("button, a, summary, input"));
}
