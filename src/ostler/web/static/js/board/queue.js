/** Requests one after the other, at most four a second, each kind once however often it is wanted. */

const PAUSE_MS = 250;

/** Asks nothing while the tab is hidden; what is wanted then is asked when it comes back. */
export class Queue {
  #wanted = new Map();
  #busy = false;
  #signal;

  constructor(signal) {
    this.#signal = signal;
    document.addEventListener("visibilitychange", () => this.#next(), { signal });
  }

  /** Runs `ask` soon; one more of the same name before that changes nothing. */
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
