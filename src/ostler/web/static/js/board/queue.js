/** Runs requests one after the other, at most four a second; repeated requests of a kind are merged. */

const PAUSE_MS = 250;

/** Sends nothing while the tab is hidden; pending requests run when it is visible again. */
export class Queue {
  #wanted = new Map();
  #busy = false;
  #signal;

  constructor(signal) {
    this.#signal = signal;
    document.addEventListener("visibilitychange", () => this.#next(), { signal });
  }

  /** Runs `ask` soon; a second request of the same name before that is merged. */
  add(name, ask) {
    if (!this.#wanted.has(name)) this.#wanted.set(name, ask);
    this.#next();
  }

  async #next() {
    const [first] = this.#wanted;
    if (!first || this.#busy || this.#signal.aborted || document.hidden) return;
    const [name, ask] = first;
    this.#wanted.delete(name);
    this.#busy = true;
    const pause = new Promise((done) => setTimeout(done, PAUSE_MS));
    await Promise.allSettled([ask(), pause]);
    this.#busy = false;
    this.#next();
  }
}
