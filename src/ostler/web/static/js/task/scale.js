/** Positions of times on the timeline: to scale, except that long idle gaps are folded. */

const LONG_GAP = { seconds: 120, part: 0.12 };
const LARGE_GAP = { seconds: 10, part: 0.5 };
const FOLDED_PART = 0.05;
const STEPS = [
  0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
  172_800, 604_800,
];

/** The parts from start to end, each {from, to, x, width, folded}; x and width are parts of 1. */
export function makeScale(busy, start, end) {
  const gaps = quietGaps(busy, start, Math.max(end, start + 0.001));
  const pieces = cut(gaps, start, Math.max(end, start + 0.001));
  const drawn = pieces.filter((one) => !one.folded).reduce((sum, one) => sum + one.to - one.from, 0);
  const forGaps = gaps.length * FOLDED_PART;
  let x = 0;
  return pieces.map((piece) => {
    const part = piece.folded ? FOLDED_PART : ((piece.to - piece.from) / (drawn || 1)) * (1 - forGaps);
    x += part;
    return { ...piece, x: x - part, width: part };
  });
}

/** The position of a time, a part of 1. */
export function placeOf(scale, time) {
  const piece = scale.find((one) => time <= one.to) ?? scale.at(-1);
  const inside = (time - piece.from) / (piece.to - piece.from || 1);
  return piece.x + Math.min(1, Math.max(0, inside)) * piece.width;
}

/** The time at a position: the inverse of placeOf. */
export function timeAt(scale, place) {
  const piece = scale.find((one) => place <= one.x + one.width) ?? scale.at(-1);
  return piece.from + Math.min(1, Math.max(0, (place - piece.x) / (piece.width || 1))) * (piece.to - piece.from);
}

/** Round times, about `wanted` of them, in the visible range: [{time, after, step}]. */
export function ticks(scale, from, to, wanted) {
  const seconds = drawnSeconds(scale, from, to);
  const step = STEPS.find((one) => seconds / one <= wanted) ?? STEPS.at(-1);
  const origin = scale[0].from;
  return scale
    .filter((piece) => !piece.folded && piece.x < to && piece.x + piece.width > from)
    .flatMap((piece) => roundTimes(piece, origin, step).map((time) => ({ time, after: time - origin, step })))
    .filter(({ time }) => placeOf(scale, time) >= from && placeOf(scale, time) <= to);
}

/** The seconds between two positions, without folded ones. */
function drawnSeconds(scale, from, to) {
  return scale
    .filter((piece) => !piece.folded)
    .reduce((sum, piece) => {
      const part = Math.min(to, piece.x + piece.width) - Math.max(from, piece.x);
      return sum + (part > 0 ? (part / piece.width) * (piece.to - piece.from) : 0);
    }, 0);
}

function roundTimes(piece, origin, step) {
  const first = Math.ceil((piece.from - origin) / step - 1e-9);
  const last = Math.min(Math.floor((piece.to - origin) / step + 1e-9), first + 400);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => origin + (first + index) * step);
}

function quietGaps(busy, start, end) {
  const least = Math.min(...[LONG_GAP, LARGE_GAP].map(({ seconds, part }) => Math.max(seconds, (end - start) * part)));
  const gaps = [];
  let reached = start;
  for (const [from, to] of [...busy].sort((left, right) => left[0] - right[0])) {
    if (from - reached > least) gaps.push({ from: reached, to: from });
    reached = Math.max(reached, to);
  }
  if (end - reached > least) gaps.push({ from: reached, to: end });
  return gaps.map(trimmed);
}

/** A folded gap keeps a little width at both ends. */
function trimmed({ from, to }) {
  const kept = Math.min(15, (to - from) * 0.02);
  return { from: from + kept, to: to - kept };
}

function cut(gaps, start, end) {
  const pieces = [];
  let at = start;
  for (const gap of gaps) {
    pieces.push({ from: at, to: gap.from, folded: false }, { ...gap, folded: true });
    at = gap.to;
  }
  return [...pieces, { from: at, to: end, folded: false }];
}
