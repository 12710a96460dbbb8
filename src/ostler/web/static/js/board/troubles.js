/** Why tasks wait that could be run otherwise: no agent, nobody logged in, no commit. */

import { get } from "../api.js";
import { h, replace } from "../dom.js";

const SOON_MS = 2500;

export class Troubles {
  node = h("div", { class: "troubles", role: "status" });

  async refresh(signal) {
    const { troubles } = await get("/session", {}, signal);
    replace(this.node, troubles.map((trouble) => h("p", { class: "trouble" }, trouble)));
  }

  /** Once the server has had the time to try. */
  refreshSoon(signal) {
    setTimeout(() => signal.aborted || this.refresh(signal).catch(() => {}), SOON_MS);
  }
}
