/** One line about accounts that are nearly used or closed; empty while there is enough left. */

import { get } from "../api.js";
import { h, replace } from "../dom.js";
import { clock } from "../format.js";
import { percentText } from "../plots/accounts.js";
import { startHold } from "../plots/stopped.js";

export class Limits {
  node = h("div", { class: "limits-line", role: "status" });
  /** Why no new task starts; empty: it may. */
  hold = "";
  #shown = "";

  async refresh(signal) {
    const known = await get("/limits", {}, signal);
    const { alerts } = known;
    this.hold = startHold(known);
    const text = alerts.map(describe).join("; ");
    if (text === this.#shown) return;
    this.#shown = text;
    const closed = alerts.some(({ kind }) => kind !== "near");
    replace(this.node, text && h("a", { class: "limits-alert", href: "/models", data: { tone: closed ? "bad" : "warn" } }, text));
  }
}

function describe({ account, kind, window, used, until, code, is_rejected: rejected }) {
  if (kind === "limited") return `${account} limited until ${clock(until)} (${window})`;
  if (kind === "not_called") return `${account} not called until ${clock(until)} (${code})`;
  return `${account}: ${window} ${percentText(used) || (rejected ? "rejected" : "nearly used")}${until ? `, resets ${clock(until)}` : ""}`;
}
