/** Sentences about a file whose change is not, or not only, in its lines. */

import { bytes } from "../../format.js";

const MODES = { 100644: "a file", 100755: "an executable file", 120000: "a symbolic link", 160000: "a submodule" };

/** What is to be known about a file of ostler.changes/1. */
export function notesOf(file, hasLines) {
  const notes = [modeNote(file), kindNote(file)].filter(Boolean);
  if (file.too_large) notes.push("The file is too large to show its whole text; only the changed lines are here.");
  if (!hasLines && !notes.length && file.kind !== "image") notes.push(emptyNote(file));
  return notes;
}

function modeNote({ old_mode: old, new_mode: now, status }) {
  if (!old || !now || old === now || status === "added" || status === "deleted") return null;
  return `Mode changed from ${old} (${MODES[old] ?? "unknown"}) to ${now} (${MODES[now] ?? "unknown"}).`;
}

function kindNote({ kind, old_size: old, new_size: now, status, new_mode: mode }) {
  if (kind === "binary") return `Binary file, not shown: ${sizes(old, now)}.`;
  if (kind === "submodule") return "A submodule: the lines are the commits that it points to.";
  if (kind === "symlink") return "A symbolic link: the line is its target.";
  if (kind === "lfs") return "Stored in Git LFS: the lines are its pointer.";
  return status === "added" && mode === "100755" ? "An executable file." : null;
}

function sizes(old, now) {
  if (old === null || old === undefined) return bytes(now ?? 0);
  if (now === null || now === undefined) return `was ${bytes(old)}`;
  if (bytes(old) !== bytes(now)) return `${bytes(old)} → ${bytes(now)}`;
  return old === now ? `${bytes(now)} as before` : `${old.toLocaleString("en")} → ${now.toLocaleString("en")} bytes`;
}

function emptyNote({ status, old_size: old, new_size: now }) {
  if (status === "renamed" || status === "copied") return `${status === "renamed" ? "Renamed" : "Copied"} without changes.`;
  if ((status === "added" && !now) || (status === "deleted" && !old)) return "An empty file.";
  return "No changed lines.";
}
