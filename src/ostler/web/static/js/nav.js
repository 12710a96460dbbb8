/** The bar: the project, the pages, the connection, light or dark, and a new task. */

import { keepCounting, watchCounts } from "./counts.js";
import { h, icon, replace } from "./dom.js";
import { BOARD, COST, HORSESHOE, INBOX, MACHINE, MODELS, PIPELINES, PLUS, SEARCH } from "./drawings.js";
import { watchConnection } from "./feed.js";
import { menuButton } from "./menu.js";
import { openNewTask } from "./new_task.js";
import { PREFIX } from "./place.js";
import { projectSwitcher } from "./projects/switcher.js";
import { openCommands, openHelp } from "./shortcuts.js";
import { themeSwitch } from "./theme.js";
import { needYou } from "./title.js";

const PAGES = [
  ["board", "/", "Board", BOARD],
  ["inbox", "/inbox", "Inbox", INBOX],
  ["pipelines", "/pipelines", "Pipelines", PIPELINES],
  ["models", "/models", "Models", MODELS],
  ["cost", "/cost", "Cost", COST],
  ["machine", "/machine", "Machine", MACHINE],
];
const STATES = { live: "Live", connecting: "Reconnecting", lost: "Connection lost" };
const links = new Map();

/** Draws the bar; once. */
export function drawBar({ project, runs_tasks }) {
  replace(
    document.getElementById("bar"),
    PREFIX ? projectSwitcher(project) : h("a", { class: "bar-project cut", href: "/", title: project }, icon(HORSESHOE, 18), h("strong", { class: "cut" }, project)),
    h("nav", { class: "bar-pages", "aria-label": "Pages" }, PAGES.map(pageLink)),
    h("div", { class: "bar-side row" }, !runs_tasks && lookingOn(), connection(), paletteButton(), helpButton(), themeSwitch(), newTaskButton(), menuButton()),
  );
  watchCounts(badge);
  keepCounting();
}

/** Marks the page that is shown; a task is a part of the board. */
export function markPage(page) {
  for (const [name, link] of links) {
    if (name === page || (name === "board" && ["task", "review"].includes(page))) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function pageLink([name, href, text, drawing]) {
  const link = h("a", { href }, icon(drawing, 18), h("span", {}, text));
  links.set(name, link);
  return link;
}

function badge({ needs_you: count }) {
  needYou(count);
  const inbox = links.get("inbox");
  inbox.querySelector(".badge")?.remove();
  if (!count) return;
  const description = count === 1 ? "1 task needs you" : `${count} tasks need you`;
  const shown = h("span", { "aria-hidden": "true" }, count > 99 ? "99+" : count);
  inbox.append(h("span", { class: "badge num", title: description }, shown, h("span", { class: "hidden-text" }, description)));
}

function lookingOn() {
  return h("span", { class: "chip plain bar-looks", title: "This server does not run tasks; use ostler run, worker or serve." }, "View only");
}

function connection() {
  const node = h("span", { class: "bar-connection", role: "status", "aria-live": "polite" });
  watchConnection((state) => {
    node.dataset.state = state;
    node.title = STATES[state];
    replace(node, h("span", {}, STATES[state]));
  });
  return node;
}

/** The button of the keyboard shortcuts. */
export function helpButton() {
  const props = { class: "btn quiet square bar-help", type: "button", title: "Keyboard shortcuts (?)", on: { click: openHelp } };
  return h("button", props, "?", h("span", { class: "hidden-text" }, " keyboard shortcuts"));
}

function paletteButton() {
  const props = { class: "btn quiet square", type: "button", title: "Search tasks and commands (Ctrl+K)", on: { click: openCommands } };
  return h("button", props, icon(SEARCH), h("span", { class: "hidden-text" }, "Search tasks and commands"));
}

function newTaskButton() {
  const props = { class: "btn primary bar-new", type: "button", title: "New task (n)", on: { click: () => openNewTask() } };
  return h("button", props, icon(PLUS), h("span", {}, "New task"));
}
