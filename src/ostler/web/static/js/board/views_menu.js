/** The menu of the saved views. */

import { askText } from "../ask.js";
import { h, icon, replace } from "../dom.js";
import { BOOKMARK } from "../drawings.js";
import { notify } from "../toast.js";
import { queryHere, removeView, saveView, savedViews, viewPath } from "./saved_views.js";

/** The button and its menu, which the browser closes on Esc and on a click elsewhere. */
export function viewsMenu() {
  const menu = h("div", { class: "menu views-menu", id: "views-menu", popover: "auto" });
  const button = h("button", { class: "btn views-button", type: "button", popovertarget: "views-menu", title: "Saved views" }, icon(BOOKMARK), h("span", {}, "Views"));
  menu.addEventListener("beforetoggle", ({ newState }) => newState === "open" && draw(menu, button));
  return h("div", { class: "views" }, button, menu);
}

async function draw(menu, button) {
  const { bottom, right } = button.getBoundingClientRect();
  menu.style.setProperty("inset", `${bottom + 4}px ${Math.max(8, innerWidth - right)}px auto auto`);
  const query = queryHere();
  const views = await savedViews();
  replace(menu,
    !views.length && h("p", { class: "menu-note" }, "Save a search, filters and order under a name."),
    views.map((view) => line(view, query, menu, button)),
    h("button", { class: "menu-item", type: "button", on: { click: () => save(menu, query, views) } }, "Save this view…"));
}

function line(view, query, menu, button) {
  const remove = async () => {
    await removeView(view.name);
    await draw(menu, button);
    menu.querySelector(".menu-item")?.focus();
  };
  const props = { class: "menu-item grow", href: viewPath(view), "aria-current": view.query === query && "true", on: { click: () => menu.hidePopover() } };
  return h("div", { class: "row" }, h("a", props, h("span", { class: "cut" }, view.name)),
    h("button", { class: "btn quiet small-btn", type: "button", on: { click: remove } }, "Remove", h("span", { class: "hidden-text" }, ` the view ${view.name}`)));
}

async function save(menu, query, views) {
  menu.hidePopover();
  const name = await askText({ title: "Save this view", label: "Name", required: true, line: true, action: "Save", value: views.find((view) => view.query === query)?.name ?? "" });
  if (!name) return;
  await saveView(name.replaceAll(/\s+/g, " "), query);
  notify(`Saved: ${name}. It is in the menu Views and in the palette (Ctrl+K).`);
}
