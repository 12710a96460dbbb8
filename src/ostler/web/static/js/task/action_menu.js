/** The menu of the actions that are rarely needed; the rail has the likely ones. */

import { h, icon, replace } from "../dom.js";
import { MORE } from "../drawings.js";
import { ask, fitting, NAMES, send } from "./actions.js";

/** A button and its menu, which the browser closes on Esc and on a click elsewhere. */
export class ActionMenu {
  constructor(done) {
    this.done = done;
    this.menu = h("div", { class: "menu task-menu", id: "task-menu", popover: "auto" });
    this.button = h("button", { class: "btn quiet square", type: "button", popovertarget: "task-menu", title: "More actions" },
      icon(MORE), h("span", { class: "hidden-text" }, "More actions"));
    this.node = h("div", { class: "task-more" }, this.button, this.menu);
  }

  /** Opens it and focuses its first action; false without any. */
  open() {
    if (this.button.disabled) return false;
    this.menu.showPopover();
    this.menu.querySelector("button").focus();
    return true;
  }

  update(task) {
    this.task = task;
    const verbs = fitting(task);
    this.button.disabled = !verbs.length;
    if (this.menu.dataset.verbs === verbs.join()) return;
    this.menu.dataset.verbs = verbs.join();
    replace(this.menu, verbs.map((verb) => this.#item(verb)));
  }

  #item(verb) {
    return h("button", { class: verb === "cancel" ? "menu-item danger" : "menu-item", type: "button", data: { verb }, on: { click: () => this.#run(verb) } }, NAMES[verb]);
  }

  async #run(verb) {
    this.menu.hidePopover();
    const body = await ask(verb, this.task);
    if (body) await send(this.task.id, verb, body, this.done);
  }
}
