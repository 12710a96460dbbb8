/** The views of the rail: overview, steps, and the results of a search. */

import { h } from "../../dom.js";

const NAMES = { overview: "Overview", steps: "Steps", found: "Results" };

/** `nodes` are the views by name; `opened(name)` is called when one is shown. */
export class RailViews {
  constructor(nodes, opened) {
    Object.assign(this, { nodes, opened, current: "" });
    this.buttons = Object.fromEntries(Object.keys(nodes).map((name) => [name, this.#button(name)]));
    this.bar = h("div", { class: "rail-views choice", role: "group", "aria-label": "What the rail shows" }, Object.values(this.buttons));
    this.buttons.found.hidden = true;
    this.show("overview");
  }

  show(name) {
    if (name === this.current) return;
    this.current = name;
    this.buttons.found.hidden &&= name !== "found";
    for (const [one, node] of Object.entries(this.nodes)) {
      node.hidden = one !== name;
      this.buttons[one].setAttribute("aria-pressed", String(one === name));
    }
    this.opened(name);
  }

  /** Removes the results. */
  forget() {
    this.buttons.found.hidden = true;
    if (this.current === "found") this.show("overview");
  }

  #button(name) {
    return h("button", { class: "choice-one", type: "button", on: { click: () => this.show(name) } }, NAMES[name]);
  }
}
