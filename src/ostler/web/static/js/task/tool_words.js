/** The words of a tool call. */

import { capital } from "../format.js";

/** What it does, as the server calls it; without that, the name of the tool. */
export function verbOf({ verb, tool }) {
  return capital(verb || tool || "tool");
}

/** A path of the task's worktree, relative to it; other texts stay. */
export function relativePath(text) {
  return text && (text.replace(/^\/\S*?\/worktrees\/[^/\s]+(\/|$)/, "") || ".");
}
