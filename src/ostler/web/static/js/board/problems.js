/** Why tasks that are ready do not run: no agent, no login, no commit. */

import { get } from "../api.js";
import { h, replace } from "../dom.js";

const SOON_MS = 2500;

export class Problems {
  node = h("div", { class: "run-problems", role: "status" });

  async refresh(signal) {
    const { problems } = await get("/session", {}, signal);
    replace(this.node, problems.map((problem) => h("p", { class: "run-problem" }, problem)));
  }

  /** Loads the problems after the server had time to start tasks. */
  refreshSoon(signal) {
    setTimeout(() => signal.aborted || this.refresh(signal).catch(() => {}), SOON_MS);
  }
}
