/** An attempt log on the server, read by byte offset: from any position, backwards, and by time. */

export const PAGE_ENTRIES = 100;
const FIRST_REACH = 48 * 1024;
const CLOSE_BYTES = 96 * 1024;

/** `read(offset, limit)` gives one ostler.attempt-log/1. */
export class LogReader {
  constructor(read) {
    this.read = read;
    this.reach = FIRST_REACH;
  }

  tail() {
    return this.read(-1, PAGE_ENTRIES);
  }

  from(offset, limit = PAGE_ENTRIES) {
    return this.read(offset, limit);
  }

  /** The page that ends where another one starts. */
  async before(start) {
    for (let reach = this.reach; ; reach *= 4) {
      const page = await this.#upTo(start, Math.max(0, start - reach));
      if (page.entries.length || start - reach <= 0) {
        this.#learn(page);
        return page;
      }
    }
  }

  /** The offset of the first entry that is not before a time; found by bisection, in a few steps. */
  async offsetAt(at, size) {
    let low = 0;
    let high = size;
    while (high - low > CLOSE_BYTES) {
      const middle = Math.floor((low + high) / 2);
      const page = await this.read(middle, 1);
      const first = page.entries[0];
      if (first && first.at < at && page.next < high) low = page.next;
      else high = middle;
    }
    return this.#firstSince(at, low, high);
  }

  /** From an offset forwards until `start`; of many pages only the last two. */
  async #upTo(start, offset) {
    let earlier = [];
    let page = await this.read(offset, PAGE_ENTRIES);
    let begin = page.start;
    while (page.next < start && page.next > page.start) {
      earlier = page.entries;
      begin = page.start;
      page = await this.read(page.next, PAGE_ENTRIES);
    }
    const entries = [...earlier, ...page.entries].filter((entry) => entry.offset < start);
    return { ...page, start: Math.min(begin, start), next: start, entries };
  }

  /** How far back a page reaches, estimated from the length of nearby entries. */
  #learn(page) {
    if (!page.entries.length) return;
    const each = (page.next - page.start) / page.entries.length;
    this.reach = Math.min(1024 * 1024, Math.max(4096, Math.round(each * PAGE_ENTRIES)));
  }

  async #firstSince(at, low, high) {
    for (let page = await this.read(low, PAGE_ENTRIES); ; page = await this.read(page.next, PAGE_ENTRIES)) {
      const found = page.entries.find((entry) => entry.at >= at);
      if (found) return found.offset;
      if (page.next >= Math.min(high + CLOSE_BYTES, page.size) || page.next === page.start) return page.start;
    }
  }
}
