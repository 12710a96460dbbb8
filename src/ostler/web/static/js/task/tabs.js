/** Tabs: one panel at a time, each filled when it is first opened. */

import { h } from "../dom.js";
import { bind } from "../keys.js";

/** `tabs` are [{id, name, node, open?, leave?}]; keys 1 to 9 open them. */
export class Tabs {
  constructor(tabs, { signal, changed }) {
    Object.assign(this, { tabs, changed, current: null });
    this.list = h(
      "div",
      { class: "tabs", role: "tablist", "aria-label": "Sections of this task" },
      tabs.map((tab) => this.#button(tab)),
    );
    this.panels = tabs.map((tab) =>
      h(
        "div",
        {
          class: "tab-panel",
          role: "tabpanel",
          tabindex: "0",
          id: `panel-${tab.id}`,
          "aria-labelledby": `tab-${tab.id}`,
          hidden: true,
        },
        tab.node,
      ),
    );
    this.node = h("div", { class: "task-tabs" }, this.list, this.panels);
    this.list.addEventListener("keydown", (event) => this.#arrow(event));
    tabs
      .slice(0, 9)
      .forEach((tab, index) =>
        bind(String(index + 1), tab.name, () => this.show(tab.id), { group: "This task", signal }),
      );
  }

  /** Opens a tab; an unknown name opens the first. */
  show(id) {
    const tab = this.tabs.find((one) => one.id === id) ?? this.tabs[0];
    if (tab === this.current) return undefined;
    this.current?.leave?.();
    this.current = tab;
    this.tabs.forEach((one, index) => {
      this.panels[index].hidden = one !== tab;
      const button = this.list.children[index];
      button.setAttribute("aria-selected", String(one === tab));
      button.tabIndex = one === tab ? 0 : -1;
    });
    this.changed?.(tab.id);
    return tab.open?.();
  }

  #button(tab) {
    return h(
      "button",
      {
        class: "tab",
        type: "button",
        role: "tab",
        id: `tab-${tab.id}`,
        "aria-controls": `panel-${tab.id}`,
        "aria-selected": "false",
        tabindex: "-1",
        on: { click: () => this.show(tab.id) },
      },
      tab.name,
    );
  }

  #arrow(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const index = this.tabs.indexOf(this.current);
    const next = (index + step + this.tabs.length) % this.tabs.length;
    this.show(this.tabs[next].id);
    this.list.children[next].focus();
  }
}
