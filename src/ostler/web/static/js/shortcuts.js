/** The shortcuts that every page has, and the dialog that lists all of them. */

import { savedViews, viewPath } from "./board/saved_views.js";
import { h } from "./dom.js";
import { bind, shortcuts } from "./keys.js";
import { openNewTask } from "./new_task.js";
import { pageCommands } from "./palette/commands.js";
import { openPalette } from "./palette/palette.js";
import { PREFIX } from "./place.js";
import { projectCommands } from "./projects/commands.js";
import { go } from "./router.js";

const PAGES = {
  b: ["/", "the board"],
  i: ["/inbox", "the inbox"],
  p: ["/pipelines", "the pipelines"],
  m: ["/models", "the models"],
  c: ["/cost", "the cost"],
  h: ["/machine", "the machine"],
  t: ["/schedules", "the schedules"],
  s: ["/settings", "the settings"],
};
const SHOWN = { Escape: "Esc", ArrowDown: "↓", ArrowUp: "↑" };

/** Opens the palette with the saved views and the commands that every page has. */
export async function openCommands() {
  const [saved, projects] = await Promise.all([savedViews(), PREFIX ? projectCommands() : []]);
  const views = saved.map((view) => ({ text: `View: ${view.name}`, run: () => go(viewPath(view)) }));
  openPalette([...views, ...commonCommands(), ...projects]);
}

function commonCommands() {
  const common = [
    { text: "New task", keys: "n", run: () => openNewTask() },
    { text: "Keyboard shortcuts", keys: "?", run: () => openHelp() },
  ];
  return pageCommands(PAGES, common);
}

/** Binds them permanently. */
export function goKeys() {
  bind("Ctrl+k", "Search tasks and commands", () => void openCommands());
  for (const [key, [path, name]] of Object.entries(PAGES)) {
    bind(`g ${key}`, `Go to ${name}`, () => go(path), { group: "Go to" });
  }
  bind("n", "New task", () => openNewTask());
  bind("?", "This list", () => openHelp());
}

/** The list of the shortcuts of this page. */
export function openHelp() {
  const dialog = h("dialog", { class: "help", "aria-label": "Keyboard shortcuts" }, h("h2", {}, "Keyboard"), groups(), closing());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

function groups() {
  const parts = [...shortcuts()].map(([name, list]) => h("section", {}, h("h3", {}, name), h("dl", {}, list.map(line))));
  return h("div", { class: "help-groups" }, parts);
}

function line({ combo, description }) {
  const keys = combo.split(" ").map((key) => h("kbd", { class: "key" }, SHOWN[key] ?? key));
  return h("div", {}, h("dt", {}, keys), h("dd", {}, description));
}

function closing() {
  return h("form", { method: "dialog" }, h("button", { class: "btn", autofocus: true }, "Close", h("kbd", {}, "Esc")));
}
