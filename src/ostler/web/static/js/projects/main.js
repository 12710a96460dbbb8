/** The pages of a server of several projects: the list of projects, and their inbox. */

import { countsCame } from "../counts.js";
import { h, icon, replace } from "../dom.js";
import { HORSESHOE, INBOX, PROJECTS } from "../drawings.js";
import { bind } from "../keys.js";
import { menuButton } from "../menu.js";
import { helpButton } from "../nav.js";
import { showInbox } from "../pages/inbox.js";
import { every } from "../plots/fresh.js";
import { go, route } from "../router.js";
import { openHelp } from "../shortcuts.js";
import { themeSwitch } from "../theme.js";
import { needYou, titled } from "../title.js";
import { refused } from "../toast.js";
import { loadProjects, waitingForPerson } from "./list.js";
import { drawProjects } from "./overview.js";

const SECONDS = 2;
const PAGES = { board: ["/", "Projects", PROJECTS], inbox: ["/inbox", "Inbox", INBOX] };
const main = document.getElementById("main");
const banner = document.getElementById("banner");
const announcements = document.getElementById("announcements");
const links = new Map();
const watchers = new Set();
let known = null;
let leaving = new AbortController();

start();

async function start() {
  drawBar();
  bind("g a", "Go to all projects", () => go("/"), { group: "Go to" });
  for (const keys of ["g i", "g I"]) bind(keys, "Go to the inbox of all projects", () => go("/inbox"), { group: "Go to" });
  bind("?", "This list", () => openHelp());
  await look();
  route(open);
  every(SECONDS, look, new AbortController().signal);
  document.addEventListener("visibilitychange", look);
}

function drawBar() {
  const pages = Object.entries(PAGES).map(([page, [href, text, drawing]]) => {
    links.set(page, h("a", { href }, icon(drawing, 18), h("span", {}, text)));
    return links.get(page);
  });
  replace(document.getElementById("bar"),
    h("a", { class: "bar-project", href: "/" }, icon(HORSESHOE, 18), h("strong", {}, "Ostler")),
    h("nav", { class: "bar-pages", "aria-label": "Pages" }, pages),
    h("div", { class: "bar-side row" }, helpButton(), themeSwitch(), menuButton([])));
}

/** Loads the projects; what is shown stays when the server does not answer. */
async function look() {
  if (document.hidden && known) return;
  try {
    known = await loadProjects();
    warn("");
  } catch (error) {
    warn(error.status === 401 ? "This browser is logged out. Run ostler serve --all for a new URL." : "The server does not answer. This page shows its last state.", true);
    return;
  }
  countsCame(sumCounts(known.projects));
  mark(waitingForPerson(known.projects));
  for (const watcher of [...watchers]) watcher(known);
}

function warn(text, gone = false) {
  banner.hidden = !text;
  banner.dataset.tone = gone ? "bad" : "warn";
  document.body.dataset.server = gone ? "gone" : "there";
  if (banner.textContent !== text) banner.textContent = text;
}

function sumCounts(projects) {
  const sums = { needs_you: 0, running: 0, waiting: 0, done: 0, ended: 0, paused: 0 };
  for (const { counts } of projects) for (const group of Object.keys(sums)) sums[group] += counts?.[group] ?? 0;
  return sums;
}

function mark(count) {
  needYou(count);
  const inbox = links.get("inbox");
  inbox.querySelector(".badge")?.remove();
  if (count) inbox.append(h("span", { class: "badge num" }, count > 99 ? "99+" : count, h("span", { class: "hidden-text" }, count === 1 ? " task needs you" : " tasks need you")));
}

async function open({ page, query }) {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  for (const [name, link] of links) {
    if (name === page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const root = h("div", { data: { page } });
  replace(main, root);
  const name = PAGES[page]?.[1] ?? "Page not found";
  titled(name);
  announcements.textContent = name;
  if (document.activeElement !== document.body) main.focus({ preventScroll: true });
  if (page === "inbox") await openInbox(root, query, signal);
  else if (page === "board") watch((given) => drawProjects(root, given), signal);
  else replace(root, h("div", { class: "page" }, h("h1", {}, name)));
}

/** Leaving the page while it loads is no error. */
async function openInbox(root, query, signal) {
  try {
    await showInbox(root, { query, signal, keepCurrent: followProjects, back: "Go to the projects" });
  } catch (error) {
    if (error.name !== "AbortError" && !signal.aborted) refused(error);
  }
}

/** Calls `watcher` now and after each look, until `signal` is aborted. */
function watch(watcher, signal) {
  watchers.add(watcher);
  signal.addEventListener("abort", () => watchers.delete(watcher), { once: true });
  if (known) watcher(known);
}

/** The inbox is loaded again when the feed of a project has moved. */
function followProjects(_inbox, refresh, signal) {
  let seen = "";
  watch(({ projects }) => {
    const now = JSON.stringify(projects.map(({ name, position }) => [name, position]));
    if (seen && now !== seen) refresh();
    seen = now;
  }, signal);
}
