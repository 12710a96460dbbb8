/** A unified diff as data: its files, hunks and lines. */

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;
const KINDS = { "+": "added", "-": "removed", " ": "same" };
const ESCAPES = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };

/** The files of a patch, by their path: the part of the patch that each one has. */
export function splitPatch(patch) {
  const parts = new Map();
  for (const part of patch.split(/^(?=diff --git )/m)) {
    if (part.startsWith("diff --git ")) parts.set(pathOf(part), part);
  }
  return parts;
}

/** The hunks of one file: {old, now, title, lines: [{kind, text, old, now, bare}]}; `bare` lines have no newline. */
export function readHunks(part) {
  const hunks = [];
  let hunk = null;
  for (const line of part.split("\n")) {
    const head = HUNK.exec(line);
    if (head) hunks.push((hunk = newHunk(head)));
    else if (hunk) readLine(hunk, line);
  }
  return hunks.map(({ old, now, title, lines }) => ({ old, now, title, lines }));
}

/** A position of an empty side is that of the line before it. */
function newHunk([, old, oldCount = "1", now, nowCount = "1", title]) {
  const first = { old: Number(old) + (oldCount === "0" ? 1 : 0), now: Number(now) + (nowCount === "0" ? 1 : 0) };
  return { ...first, title, lines: [], next: { ...first } };
}

function readLine(hunk, line) {
  const kind = KINDS[line[0]];
  if (line.startsWith("\\") && hunk.lines.length) hunk.lines.at(-1).bare = true;
  if (!kind) return;
  const { next } = hunk;
  hunk.lines.push({
    kind,
    text: line.slice(1),
    old: kind === "added" ? null : next.old++,
    now: kind === "removed" ? null : next.now++,
    bare: false,
  });
}

function pathOf(part) {
  const names = {};
  for (const line of part.slice(0, part.search(/^@@ /m) >>> 0).split("\n")) {
    const found = /^(\+\+\+|---|rename to|copy to) (.*)$/.exec(line);
    if (found) names[found[1]] ??= unquoted(found[2]);
  }
  const named = [names["+++"], names["---"]].find((name) => name && name !== "/dev/null");
  return names["rename to"] ?? names["copy to"] ?? named?.slice(2) ?? samePath(part.slice(11, part.indexOf("\n") >>> 0));
}

/** Both names of a header are the same one where no other line has it, such as for a change of mode. */
function samePath(header) {
  const half = (header.length - 1) / 2;
  const name = unquoted(header.slice(half + 1));
  return name.startsWith("b/") ? name.slice(2) : name;
}

/** A name as git prints it, without the quotes and escapes of C. */
export function unquoted(name) {
  const text = name.replace(/\t$/, "");
  if (!/^".*"$/s.test(text)) return text;
  const bytes = [];
  const encoder = new TextEncoder();
  for (const [, octal, escaped, plain] of text.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gs)) {
    if (octal) bytes.push(Number.parseInt(octal, 8));
    else if (escaped) bytes.push(...(escaped in ESCAPES ? [ESCAPES[escaped]] : encoder.encode(escaped)));
    else bytes.push(...encoder.encode(plain));
  }
  return new TextDecoder().decode(new Uint8Array(bytes));
}
