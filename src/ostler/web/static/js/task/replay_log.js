/** The entries of a replay: a part of the logs around a time, so that logs of any length can be replayed. */

import { LogReader } from "./log_reader.js";

const MOST_ENTRIES = 4000;
const PAGE = 200;

/**
 * Reads parts of the logs of these attempts; `read(number, offset, limit)` gives one ostler.attempt-log/1. A part is
 * {logs: [{number, entries}], from, to}: the times that it covers.
 */
export class ReplayLog {
  constructor(attempts, read) {
    this.attempts = attempts.map(({ number, started_at: at }) => ({
      number,
      start: Date.parse(at) / 1000,
      reader: new LogReader((offset, limit) => read(number, offset, limit)),
    }));
  }

  /** The part from shortly before a time on. */
  async around(time) {
    const at = Math.max(0, this.attempts.findLastIndex(({ start }) => start <= time));
    const { number, reader } = this.attempts[at];
    const { size } = await reader.from(0, 1);
    const offset = size ? await reader.offsetAt(time, size) : 0;
    const earlier = offset > 0 ? (await reader.before(offset)).entries : [];
    const part = await this.#readOn(at, offset);
    if (earlier.length) part.logs.unshift({ number, entries: earlier });
    const isFirst = at === 0 && !earlier.length;
    return { logs: part.logs, to: part.to, from: isFirst ? -Infinity : Math.min(time, part.logs[0]?.entries[0]?.at ?? time) };
  }

  /** Forward from an offset, through the following attempts, until there are enough entries. */
  async #readOn(first, offset) {
    const logs = [];
    let left = MOST_ENTRIES;
    for (let at = first; at < this.attempts.length; at += 1) {
      const { number, reader } = this.attempts[at];
      const log = { number, entries: [] };
      logs.push(log);
      for (let next = at === first ? offset : 0; ;) {
        const page = await reader.from(next, PAGE);
        log.entries.push(...page.entries);
        left -= page.entries.length;
        if (!page.entries.length || page.next >= page.size) break;
        if (left <= 0) return { logs: filled(logs), to: log.entries.at(-1).at };
        next = page.next;
      }
    }
    return { logs: filled(logs), to: Infinity };
  }
}

const filled = (logs) => logs.filter(({ entries }) => entries.length > 0);
