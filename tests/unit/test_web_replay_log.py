"""The log of a replay is read in parts around a time, whatever its length."""

from __future__ import annotations

from js_modules import evaluate

# Two attempts: 9,000 entries from second 100 on, and 50 from second 20,000 on; every entry has 500 bytes.
READ = """
const { ReplayLog } = await load("task/replay_log.js");
const logs = { 1: [100, 9000], 2: [20000, 50] };
let requests = 0;
const read = async (number, offset, limit) => {
  requests += 1;
  const [start, count] = logs[number];
  const first = Math.min(count, Math.ceil(offset / 500));
  const last = Math.min(count, first + limit);
  const entry = (_, at) => ({ offset: (first + at) * 500, at: start + first + at });
  const entries = Array.from({ length: last - first }, entry);
  return { size: count * 500, start: first * 500, next: last * 500, entries };
};
const at = (seconds) => new Date(seconds * 1000).toISOString();
const log = new ReplayLog([{ number: 1, started_at: at(100) }, { number: 2, started_at: at(20000) }], read);
const part = await log.around(args[0]);
const all = part.logs.flatMap(({ number, entries }) => entries.map((entry) => [number, entry.at]));
return { first: all[0], last: all.at(-1), count: all.length, from: part.from ?? null, to: part.to, requests };
"""


def test_a_part_begins_before_the_time_and_ends_before_the_log() -> None:
    """In the middle of a long log: what was shown just before, and some thousand entries after it."""
    part = evaluate(READ, 5000)
    assert part["first"][0] == 1
    assert part["first"][1] < 5000 < part["last"][1] == part["to"]
    assert 4000 <= part["count"] < 4500
    assert part["requests"] < 40


def test_the_first_part_covers_everything_before_it() -> None:
    """At the beginning there is no earlier time, which JSON writes as null."""
    part = evaluate(READ, 0)
    assert (part["first"], part["from"]) == ([1, 100], None)


def test_the_last_part_covers_everything_after_it() -> None:
    """Near the end of an attempt the next one follows, until the logs are over."""
    part = evaluate(READ, 9000)
    assert part["last"] == [2, 20049]
    assert part["to"] is None
    assert part["count"] == part["last"][1] - 20000 + 1 + (9100 - part["first"][1])
