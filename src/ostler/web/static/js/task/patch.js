/** The lines of a text that resembles a diff, and the lines that an edit removes and adds. */

const LONGEST_COMPARED = 600;

/** Whether a text begins like a diff, so that its lines are coloured. */
export function looksLikePatch(text) {
  return /^(diff --git |@@ -\d+|--- \S[^\n]*\n\+\+\+ )/m.test(text.slice(0, 4000));
}

/** The lines of a text that resembles a diff, each with its kind. */
export function patchLines(text) {
  return text.split("\n").map((line) => ({ kind: kindOf(line), text: line }));
}

/** The lines of an edit: common, removed and added. */
export function editLines(before, after) {
  const was = linesOf(before);
  const is = linesOf(after);
  const [head, tail] = sharedEnds(was, is);
  const gone = was.slice(head, was.length - tail);
  const come = is.slice(head, is.length - tail);
  return [...same(was.slice(0, head)), ...changed(gone, come), ...same(was.slice(was.length - tail))];
}

/** Lines; a line break at the end adds no further one. */
function linesOf(text) {
  return text ? text.replace(/\n$/, "").split("\n") : [];
}

function kindOf(line) {
  if (line.startsWith("@@") || line.startsWith("diff --git ") || line.startsWith("*** ")) return "hunk";
  if (line.startsWith("+++ ") || line.startsWith("--- ")) return "hunk";
  return { "+": "added", "-": "removed" }[line[0]] ?? "same";
}

function sharedEnds(was, is) {
  const least = Math.min(was.length, is.length);
  let head = 0;
  while (head < least && was[head] === is[head]) head += 1;
  let tail = 0;
  while (tail < least - head && was.at(-1 - tail) === is.at(-1 - tail)) tail += 1;
  return [head, tail];
}

const same = (lines) => lines.map((text) => ({ kind: "same", text }));
const all = (kind, lines) => lines.map((text) => ({ kind, text }));

function changed(gone, come) {
  if (gone.length * come.length === 0 || gone.length > LONGEST_COMPARED || come.length > LONGEST_COMPARED) {
    return [...all("removed", gone), ...all("added", come)];
  }
  return walk(gone, come, lengths(gone, come));
}

/** The longest common part of every pair of ends. */
function lengths(gone, come) {
  const table = Array.from({ length: gone.length + 1 }, () => new Uint16Array(come.length + 1));
  for (let left = gone.length - 1; left >= 0; left -= 1) {
    for (let right = come.length - 1; right >= 0; right -= 1) {
      const further = Math.max(table[left + 1][right], table[left][right + 1]);
      table[left][right] = gone[left] === come[right] ? table[left + 1][right + 1] + 1 : further;
    }
  }
  return table;
}

function walk(gone, come, table) {
  const out = [];
  let left = 0;
  let right = 0;
  while (left < gone.length && right < come.length) {
    if (gone[left] === come[right]) {
      out.push({ kind: "same", text: gone[left] });
      left += 1;
      right += 1;
    } else if (table[left + 1][right] >= table[left][right + 1]) out.push({ kind: "removed", text: gone[left++] });
    else out.push({ kind: "added", text: come[right++] });
  }
  return [...out, ...all("removed", gone.slice(left)), ...all("added", come.slice(right))];
}
