/** The button with the name of the project, and the menu of the other projects of the server. */

import { h, icon, replace } from "../dom.js";
import { DOWN, HORSESHOE } from "../drawings.js";
import { bind } from "../keys.js";
import { PREFIX, ofServer } from "../place.js";
import { refused } from "../toast.js";
import { isOpen, loadProjects, stateOf } from "./list.js";

const GROUP = "Projects";

/** Draws the button and binds the keys; once. */
export function projectSwitcher(project) {
  const list = h("div", { role: "group", "aria-label": "Projects" });
  const menu = h("div", { class: "menu project-menu", id: "projects", popover: "auto" }, list,
    h("div", { role: "group", "aria-label": "All projects" },
      link(ofServer("/inbox"), "Inbox of all projects", "g I"), link(ofServer("/"), "All projects", "g a")));
  const button = h("button", { class: "bar-project btn quiet", type: "button", popovertarget: "projects", title: "Switch project (P)" },
    icon(HORSESHOE, 18), h("strong", { class: "cut" }, project), icon(DOWN, 12));
  menu.addEventListener("toggle", ({ newState }) => newState === "open" && fill(menu, list));
  menu.addEventListener("keydown", (event) => move(event, menu));
  bind("P", "Switch project", () => menu.showPopover(), { group: GROUP });
  bind("g a", "Go to all projects", () => location.assign("/"), { group: GROUP });
  bind("g I", "Go to the inbox of all projects", () => location.assign("/inbox"), { group: GROUP });
  return [button, menu];
}

async function fill(menu, list) {
  try {
    const { projects } = await loadProjects();
    replace(list, projects.map(item));
    itemsOf(menu)[0]?.focus();
  } catch (error) {
    refused(error);
  }
}

function item(project) {
  const { path, title, root, counts } = project;
  const current = path === PREFIX;
  const need = counts?.needs_you;
  const note = isOpen(project) ? "" : stateOf(project);
  const props = { class: "menu-item", href: ofServer(`${path}/`), title: root, "aria-current": current && "page" };
  return h("a", props, h("span", { class: "cut grow" }, title), note && h("span", { class: "small muted" }, note),
    need > 0 && h("span", { class: "badge num", title: `${need} need you` }, need, h("span", { class: "hidden-text" }, need === 1 ? " needs you" : " need you")));
}

function link(href, text, key) {
  return h("a", { class: "menu-item", href }, text, h("kbd", { class: "key" }, key));
}

const itemsOf = (menu) => [...menu.querySelectorAll("a")];

function move(event, menu) {
  const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  event.stopPropagation();
  const items = itemsOf(menu);
  items[(items.indexOf(document.activeElement) + by + items.length) % items.length]?.focus();
}
