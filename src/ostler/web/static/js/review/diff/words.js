/** The words in which two versions of a line differ. */

const WORD = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;
const MOST_WORDS = 400;
const MOST_CHANGED = 0.75; // of the text; beyond that the whole line is new

/** The words, the spaces between them and the other characters of a line. */
export function wordsOf(text) {
  return text.match(WORD) ?? [];
}

/** Ranges [start, end] of both lines that differ; white space is marked only if nothing else is. Null if nearly all of them differs. */
export function changedWords(before, after) {
  const [old, now] = [wordsOf(before), wordsOf(after)];
  if (old.length > MOST_WORDS || now.length > MOST_WORDS) return null;
  const [keptOld, keptNow] = kept(old, now);
  const ranges = [rangesOf(old, keptOld), rangesOf(now, keptNow)];
  if (before !== after && !ranges.flat().length) return spaces([old, keptOld], [now, keptNow]);
  const share = ([one, text]) => one.reduce((sum, [start, end]) => sum + end - start, 0) / Math.max(1, text.trim().length);
  if (share([ranges[0], before]) > MOST_CHANGED && share([ranges[1], after]) > MOST_CHANGED) return null;
  return ranges;
}

/** Which words of both belong to their longest common sequence. */
function kept(old, now) {
  const table = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let left = old.length - 1; left >= 0; left -= 1) {
    for (let right = now.length - 1; right >= 0; right -= 1) {
      const same = old[left] === now[right];
      table[left][right] = same ? table[left + 1][right + 1] + 1 : Math.max(table[left + 1][right], table[left][right + 1]);
    }
  }
  const marks = [new Set(), new Set()];
  for (let left = 0, right = 0; left < old.length && right < now.length;) {
    if (old[left] === now[right]) {
      marks[0].add(left++);
      marks[1].add(right++);
    } else if (table[left + 1][right] >= table[left][right + 1]) left += 1;
    else right += 1;
  }
  return marks;
}

/** Neighbouring changed words are one range, also over a space between them. */
function rangesOf(words, same) {
  const ranges = [];
  let at = 0;
  words.forEach((word, index) => {
    const end = at + word.length;
    const isSpace = !word.trim();
    const joins = ranges.at(-1)?.[1] === at;
    if (isSpace && joins && index + 1 < words.length && !same.has(index + 1)) ranges.at(-1)[1] = end;
    else if (!isSpace && !same.has(index)) {
      if (joins) ranges.at(-1)[1] = end;
      else ranges.push([at, end]);
    }
    at = end;
  });
  return ranges;
}

/** The changed white space, such as a tab or a carriage return; an indentation by spaces alone is visible anyway. */
function spaces(...sides) {
  const isIndented = sides.every(([words]) => /^ *$/.test(words[0]?.trim() ? "" : (words[0] ?? "")));
  return sides.map(([words, same]) => spacesOf(words, same).filter(([start]) => start > 0 || !isIndented));
}

function spacesOf(words, same) {
  let at = 0;
  return words.flatMap((word, index) => {
    const start = at;
    at += word.length;
    return same.has(index) || word.trim() ? [] : [[start, at]];
  });
}
