/** Why tasks that are ready do not run: no agent, no login, no commit. */

import { h, replace } from "../dom.js";
import { askServer, watchServer } from "../server_state.js";

const SOON_MS = 2500;

export class Problems {
  node = h("div", { class: "run-problems", role: "status" });
  #signal;

  constructor(signal) {
    this.#signal = signal;
    watchServer(({ problems }) => this.#draw(problems), signal);
  }

  /** Loads the problems after the server had time to start tasks. */
  refreshSoon() {
    setTimeout(() => this.#signal.aborted || askServer(), SOON_MS);
  }

  #draw(problems) {
    replace(this.node, problems.map((problem) => h("p", { class: "run-problem" }, problem)));
  }
}
