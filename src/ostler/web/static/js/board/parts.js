/** The small parts of the cards and the lines of a task. */

import { h } from "../dom.js";
import { statusName } from "../format.js";
import { taskPage } from "../place.js";

/** The link of a task, by its title. */
export function titleLink(row) {
  return h("a", { class: "tile-title", href: taskPage(row.id) }, row.title);
}

/** Its phases as dots, with their names for screen readers. */
export function phaseDots() {
  return h("span", { class: "phases", role: "img" });
}

/** Draws the dots of a row if they changed. */
export function setPhases(node, phases) {
  const description = phases.map(({ id, status }) => `${id}: ${status}`).join(", ");
  if (node.title === description) return;
  node.title = description;
  node.setAttribute("aria-label", `Phases: ${description}`);
  node.replaceChildren(...phases.map(({ status }) => h("i", { data: { phase: status } })));
}

/** Writes a text if it changed. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Marks an element with the status of a task. */
export function setStatus(node, { status, code }) {
  node.dataset.status = status;
  setText(node, statusName(status, code));
}

/** The priority; P0 and P1 are highlighted. */
export function priority() {
  return h("span", { class: "priority num" });
}

/** Writes a priority. */
export function setPriority(node, value) {
  if (node.dataset.level === value) return;
  node.dataset.level = value;
  node.title = `Priority ${value}`;
  node.textContent = value;
}

/** The warnings of a task; hidden without any. */
export function warningChip() {
  return h("span", { class: "chip", data: { status: "limited" }, hidden: true });
}

/** Writes the first warning's code or the number of warnings; the title has all of them. */
export function setWarnings(node, warnings) {
  const all = warnings.join("\n");
  if (node.title === all) return;
  node.title = all;
  node.hidden = !warnings.length;
  const code = /^[A-Z_]+(?=:)/.exec(warnings[0] ?? "")?.[0];
  setText(node, warnings.length === 1 ? code ?? "1 warning" : `${warnings.length} warnings`);
}

/** The running phase, with its round unless it is the first. */
export const phaseWords = ({ phase, iteration }) => (iteration > 1 ? `${phase}, round ${iteration}` : phase);

/** The project of a task in the inbox of all projects. */
export function projectChip({ project, project_title: title }) {
  return project ? h("span", { class: "project-of" }, h("a", { class: "chip plain", href: `/p/${encodeURIComponent(project)}/`, tabindex: "-1" }, title)) : null;
}
