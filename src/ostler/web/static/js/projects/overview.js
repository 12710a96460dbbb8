/** The list of the projects, each with what needs the person, runs and waits. */

import { h, replace } from "../dom.js";
import { isOpen, stateOf } from "./list.js";

const GROUPS = ["running", "waiting", "done"];
const shown = new WeakMap();

/** Draws it if it changed. */
export function drawProjects(root, { projects, view_only: viewOnly }) {
  const text = JSON.stringify([projects, viewOnly]);
  if (shown.get(root) === text) return;
  shown.set(root, text);
  const focused = root.contains(document.activeElement) ? document.activeElement.dataset.project : undefined;
  replace(root, h("div", { class: "page stack wide-gap projects-page" },
    h("div", { class: "row" }, h("h1", {}, "Projects"), viewOnly && h("span", { class: "chip plain" }, "View only")),
    projects.length ? h("ul", { class: "projects" }, projects.map(card)) : empty()));
  if (focused !== undefined) root.querySelector(`[data-project="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

function card(project) {
  const { name, title, root, path, counts, problem, hint } = project;
  const state = stateOf(project);
  return h("li", { class: "card project", data: { state: project.state } },
    h("div", { class: "row wrap" },
      h("h2", { class: "cut" }, isOpen(project) ? h("a", { href: `${path}/`, data: { project: name } }, title) : title),
      state && h("span", { class: "chip", data: { status: toneOf(project) } }, state)),
    h("p", { class: "muted mono small project-root" }, root),
    counts && h("div", { class: "row wrap project-counts" },
      counts.needs_you > 0 && h("strong", { class: "project-needs" }, `${counts.needs_you.toLocaleString("en")} ${counts.needs_you === 1 ? "needs" : "need"} you`),
      GROUPS.filter((group) => counts[group] > 0).map((group) => h("span", {}, `${counts[group].toLocaleString("en")} ${group}`)),
      !counts.needs_you && GROUPS.every((group) => !counts[group]) && h("span", { class: "muted" }, "No tasks")),
    problem && h("p", { class: "project-problem" }, problem),
    problem && hint && h("p", { class: "muted mono small" }, hint));
}

const toneOf = ({ state }) => ({ viewing: "paused", elsewhere: "pending" })[state] ?? "failed";

function empty() {
  return h("div", { class: "card stack" }, h("h2", {}, "No projects"),
    h("p", {}, "A project is added to the list when you create a task in it or run it. To add one now:"), h("code", { class: "mono" }, "ostler projects add PATH"));
}
