/** The menu of a card: what can be done with the work, and how to check it out. */

import { get, taskPath } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { MORE } from "../drawings.js";
import { taskPage } from "../place.js";
import { refused } from "../toast.js";
import { workActions } from "./answers.js";
import { copyText } from "./copy.js";

const EDGE = 8;
let opened = null;

/** The button of the menu. `row()` is the task at present, `answer(verb, row)` performs an action. */
export function menuOf(row, answer) {
  const button = h("button", { class: "btn quiet square card-menu", type: "button", "aria-haspopup": "menu", "aria-expanded": "false" },
    icon(MORE), h("span", { class: "hidden-text" }, `Actions of ${row().title}`));
  button.addEventListener("click", () => (opened?.button === button ? opened.close() : open(button, row(), answer)));
  return button;
}

/** Opens the menu of the focused card; false without one. */
export function openMenuOf(card) {
  const button = card?.querySelector(".card-menu");
  button?.click();
  return Boolean(button);
}

function open(button, row, answer) {
  const menu = h("div", { class: "menu work-menu", role: "menu", popover: "auto", "aria-label": `Actions of ${row.title}` });
  const close = () => menu.hidePopover();
  const run = (act) => () => (close(), act());
  const checkout = h("div", { role: "group", "aria-label": "Check out" }, h("p", { class: "menu-note" }, "Loading…"));
  const task = taskPage(row.id);
  replace(menu, link(task, "Open the task", close), (row.diffstat || row.output_path) && link(`${task}/review`, "Open the review", close),
    workActions(row).map((action) => actionItem(action, run(() => answer(action.verb, row)))), checkout);
  menu.addEventListener("keydown", move);
  menu.addEventListener("toggle", ({ newState }) => {
    if (newState === "open") return;
    button.setAttribute("aria-expanded", "false");
    menu.remove();
    if (opened?.menu === menu) opened = null;
  });
  document.getElementById("main").append(menu); // in a landmark; the browser draws it above everything
  menu.showPopover();
  opened = { button, close, menu };
  button.setAttribute("aria-expanded", "true");
  place(menu, button);
  itemsOf(menu)[0].focus();
  fillCheckout(checkout, row, run).then(() => menu.isConnected && place(menu, button));
}

function link(href, text, close) {
  return h("a", { class: "menu-item", role: "menuitem", href, on: { click: close } }, text);
}

function actionItem({ verb, text, allowed, reason }, run) {
  const props = { class: "menu-item", type: "button", role: "menuitem", data: { verb }, "aria-disabled": !allowed && "true", title: allowed ? null : reason };
  return h("button", { ...props, on: { click: () => allowed && run() } }, text, !allowed && h("span", { class: "menu-note" }, reason));
}

/** The commands and the links of an editor; the browser hands a link to the editor. */
async function fillCheckout(group, row, run) {
  try {
    const { command, pull_request: pulled, worktree, editor_links: links, reason } = await get(taskPath(row.id, "checkout"));
    const copy = (text, what) => text && h("button", { class: "menu-item", type: "button", role: "menuitem", title: text, on: { click: run(() => copyText(text, text)) } }, what);
    replace(group, copy(command, "Copy the checkout command"), copy(pulled, "Copy the command for its pull request"), copy(worktree, "Copy the path of its worktree"),
      links.map(({ name, url }) => h("button", { class: "menu-item", type: "button", role: "menuitem", on: { click: run(() => location.assign(url)) } }, `Open in ${name}`)),
      !command && h("p", { class: "menu-note" }, reason),
      command && worktree && !links.length && h("p", { class: "menu-note" }, "The setting server.editor adds a link that opens an editor."));
  } catch (error) {
    replace(group);
    refused(error);
  }
}

function itemsOf(menu) {
  return [...menu.querySelectorAll(".menu-item")];
}

/** Arrow keys, Home and End move; Tab closes, as Esc does. */
function move(event) {
  const items = itemsOf(event.currentTarget);
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  if (event.key === "Tab") opened?.close();
  if (to === undefined) return;
  event.preventDefault();
  items.at(to % items.length).focus();
}

/** Below the button, or above it where there is more room. */
function place(menu, button) {
  const { top, bottom, right } = button.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const below = bottom + height + EDGE < innerHeight || top < innerHeight / 2;
  menu.style.setProperty("inset", "auto");
  menu.style.setProperty("left", `${Math.max(EDGE, Math.min(right - width, innerWidth - width - EDGE))}px`);
  menu.style.setProperty("top", `${Math.max(EDGE, below ? bottom + 4 : top - height - 4)}px`);
}
