/** The series of a stacked plot: a few, the others added up, and unknown values. */

const COLOURS = 7;
const OTHERS = "others";
const MOST_BARS = 92;
const WEEK = 7;

/**
 * The most expensive series with a colour each and all others as one; unknown values are counted apart, not as 0.
 * Gives {series: [{key, name, colour, values, unknown}], sums, unknowns}; the last three have a number for each bar.
 */
export function stacked(given, measure) {
  const all = given.map((one) => measured(one, measure)).sort((a, b) => Number(a.key === null) - Number(b.key === null) || sum(b.values) - sum(a.values));
  const series = folded(all).map((one, at) => ({ ...one, colour: one.key === null ? "rest" : String(at + 1) }));
  return { series, sums: added(series.map((one) => one.values)), unknowns: added(series.map((one) => one.unknown)) };
}

/** A document of the API without the empty time before the first attempt; by the week where that is long. */
export function trimmed({ buckets, series }) {
  const used = buckets.findIndex((_, at) => series.some((one) => one.tokens[at] || one.usd[at] || one.unknown[at]));
  const first = Math.max(0, Math.min(used, buckets.length - WEEK));
  const size = buckets.length - first > MOST_BARS ? WEEK : 1;
  const kept = (values, join) => grouped(values.slice(first), size).map(join);
  return {
    bucket: size === WEEK ? "week" : "day",
    buckets: kept(buckets, ([start]) => start),
    series: series.map((one) => ({ key: one.key, usd: kept(one.usd, sum), tokens: kept(one.tokens, sum), unknown: kept(one.unknown, sum) })),
  };
}

/** An amount as text, including unknown parts. */
export function amount(value, unknown, format) {
  if (!unknown) return format(value);
  return value ? `${format(value)} + ${unknown} unknown` : "unknown";
}

/** The sum of numbers. */
export function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function measured(given, measure) {
  const { key, [measure]: values, unknown } = given;
  const rest = key === OTHERS;
  return { key: rest ? null : key, name: rest ? OTHERS : key || "its default", values, unknown: measure === "usd" ? unknown : unknown.map(() => 0) };
}

function folded(all) {
  if (all.length <= COLOURS) return all;
  const rest = all.slice(COLOURS);
  const others = { key: null, name: OTHERS, values: added(rest.map((one) => one.values)), unknown: added(rest.map((one) => one.unknown)) };
  return [...all.slice(0, COLOURS), others];
}

function added(rows) {
  return (rows[0] ?? []).map((_, at) => sum(rows.map((row) => row[at])));
}

function grouped(values, size) {
  return Array.from({ length: Math.ceil(values.length / size) }, (_, at) => values.slice(at * size, (at + 1) * size));
}
