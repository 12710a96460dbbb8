/** The few pages of an attempt log that are on the screen: one part of the file without a gap. */

const MOST_PAGES = 6;
const FULL_ENTRIES = 100;

/** Pages are {start, next, entries, ...}; pages that no longer fit are returned. */
export class PageWindow {
  constructor() {
    this.pages = [];
  }

  get start() {
    return this.pages[0]?.start ?? 0;
  }

  get next() {
    return this.pages.at(-1)?.next ?? 0;
  }

  /** Empties it; returns the previous pages. */
  clear() {
    return this.pages.splice(0);
  }

  /** Adds a page after the last; returns the pages removed at the front. */
  push(page) {
    this.pages.push(page);
    return this.pages.splice(0, Math.max(0, this.pages.length - MOST_PAGES));
  }

  /** Adds a page before the first; returns the pages removed at the end. */
  unshift(page) {
    this.pages.unshift(page);
    return this.pages.splice(MOST_PAGES);
  }

  /** The page that still gets new entries, or null. */
  get open() {
    const last = this.pages.at(-1);
    return last && last.entries.length < FULL_ENTRIES ? last : null;
  }

  /** The page that contains an offset, or null. */
  holding(offset) {
    return this.pages.find((page) => offset >= page.start && offset < page.next) ?? null;
  }

  get entries() {
    return this.pages.flatMap((page) => page.entries);
  }
}

/** Whether there are so many new entries that the tail is reloaded instead. */
export const isFarBehind = (page) => page.size - page.next > 512 * 1024;

/** The position of an offset in a file of this size, from 0 to 1000. */
export const partOf = (offset, size) => (size ? Math.min(1000, Math.round((offset / size) * 1000)) : 0);
