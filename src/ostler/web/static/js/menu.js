/** The menu at the end of the bar. */

import { post } from "./api.js";
import { h, icon } from "./dom.js";
import { MENU } from "./drawings.js";
import { notificationItem } from "./notifications.js";
import { refused } from "./toast.js";

const PAGES = [["/schedules", "Schedules", "g t"], ["/settings", "Settings", "g s"]];

/** The button and its menu, which the browser closes on Esc and on a click elsewhere. */
export function menuButton(pages = PAGES) {
  const menu = h("div", { class: "menu", id: "menu", popover: "auto" },
    pages.map(([href, text, key]) => h("a", { class: "menu-item", href, on: { click: () => menu.hidePopover() } }, text, h("kbd", { class: "key" }, key))),
    pages.length > 0 && notificationItem(),
    h("button", { class: "menu-item", type: "button", on: { click: logOut } }, "Log out"));
  const button = h("button", { class: "btn quiet square", type: "button", popovertarget: "menu", title: "Menu" },
    icon(MENU), h("span", { class: "hidden-text" }, "Menu"));
  return [button, menu];
}

/** Ends the session of this browser; the page that follows names the command for a new one. */
async function logOut() {
  try {
    await post("/session/logout");
    location.assign("/");
  } catch (error) {
    refused(error);
  }
}
