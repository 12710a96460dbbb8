/** The few pages of an attempt log that are on the screen: one stretch of the file without a gap. */

const MOST_PAGES = 6;
const FULL_ENTRIES = 100;

/** Pages are {start, next, entries, ...}; what no longer fits is given back. */
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

  /** Empties it; the pages that were there. */
  clear() {
    return this.pages.splice(0);
  }

  /** A page behind the last; the pages that leave at the front. */
  push(page) {
    this.pages.push(page);
    return this.pages.splice(0, Math.max(0, this.pages.length - MOST_PAGES));
  }

  /** A page before the first; the pages that leave at the end. */
  unshift(page) {
    this.pages.unshift(page);
    return this.pages.splice(MOST_PAGES);
  }

  /** The page that still takes new entries, or null. */
  get open() {
    const last = this.pages.at(-1);
    return last && last.entries.length < FULL_ENTRIES ? last : null;
  }

  /** The page that an offset falls into, or null. */
  holding(offset) {
    return this.pages.find((page) => offset >= page.start && offset < page.next) ?? null;
  }

  get entries() {
    return this.pages.flatMap((page) => page.entries);
  }
}

/** Whether there is so much new that the tail is reloaded instead. */
export const isFarBehind = (page) => page.size - page.next > 512 * 1024;

/** Where an offset lies in a file of this size, from 0 to 1000. */
export const partOf = (offset, size) => (size ? Math.min(1000, Math.round((offset / size) * 1000)) : 0);
