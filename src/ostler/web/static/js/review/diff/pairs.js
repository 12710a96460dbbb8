/** Which removed line became which added line: by similarity, in order. */

import { wordsOf } from "./words.js";

const LEAST = 0.4; // lines that are less alike are no pair
const MOST_COMPARED = 20_000; // pairs of lines

/** Pairs of [removed, added] in the order in which both are shown; null where a line has no partner. */
export function pairLines(removed, added) {
  if (removed.length === 1 && added.length === 1) return similar(removed[0].text, added[0].text) >= LEAST ? [[removed[0], added[0]]] : unpaired(removed, added);
  if (!removed.length || !added.length || removed.length * added.length > MOST_COMPARED) return unpaired(removed, added);
  return aligned(removed, added, scores(removed, added));
}

/** How alike two lines are, from 0 to 1: the share of common words. */
export function similar(one, other) {
  return common(bag(one), bag(other));
}

/** Unrelated lines are beside each other without being compared. */
function unpaired(removed, added) {
  return [...removed.map((line) => [line, null]), ...added.map((line) => [null, line])];
}

function bag(text) {
  const words = new Map();
  let size = 0;
  for (const word of wordsOf(text)) {
    if (!word.trim()) continue;
    words.set(word, (words.get(word) ?? 0) + 1);
    size += word.length;
  }
  return { words, size };
}

function common(one, other) {
  if (!one.size || !other.size) return 0;
  let shared = 0;
  for (const [word, count] of one.words) shared += Math.min(count, other.words.get(word) ?? 0) * word.length;
  return (2 * shared) / (one.size + other.size);
}

function scores(removed, added) {
  const bags = added.map((line) => bag(line.text));
  return removed.map((line) => {
    const own = bag(line.text);
    return bags.map((other) => common(own, other));
  });
}

/** The alignment with the highest sum of scores. */
function aligned(removed, added, score) {
  const table = Array.from({ length: removed.length + 1 }, () => new Float64Array(added.length + 1));
  const worth = (left, right) => (score[left][right] >= LEAST ? score[left][right] + table[left + 1][right + 1] : -1);
  for (let left = removed.length - 1; left >= 0; left -= 1) {
    for (let right = added.length - 1; right >= 0; right -= 1) {
      table[left][right] = Math.max(table[left + 1][right], table[left][right + 1], worth(left, right));
    }
  }
  const pairs = [];
  let [left, right] = [0, 0];
  while (left < removed.length && right < added.length) {
    if (worth(left, right) === table[left][right]) pairs.push([removed[left++], added[right++]]);
    else if (table[left + 1][right] >= table[left][right + 1]) pairs.push([removed[left++], null]);
    else pairs.push([null, added[right++]]);
  }
  return [...pairs, ...unpaired(removed.slice(left), added.slice(right))];
}
