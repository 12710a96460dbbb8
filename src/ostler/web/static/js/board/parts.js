/** The small parts that the cards and the lines of a task are made of. */

import { h } from "../dom.js";
import { statusName } from "../format.js";

/** The link of a task, by its title. */
export function titleLink(row) {
  return h("a", { class: "tile-title", href: `/tasks/${encodeURIComponent(row.id)}` }, row.title);
}

/** Its phases as dots, with their names for those who do not see them. */
export function phaseDots() {
  return h("span", { class: "phases", role: "img" });
}

/** Draws the dots of a row, if they are others. */
export function setPhases(node, phases) {
  const says = phases.map(({ id, status }) => `${id}: ${status}`).join(", ");
  if (node.title === says) return;
  node.title = says;
  node.setAttribute("aria-label", `Phases: ${says}`);
  node.replaceChildren(...phases.map(({ status }) => h("i", { data: { phase: status } })));
}

/** Writes a text, if it is another. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Marks an element with a status, if it is another. */
export function setStatus(node, status) {
  if (node.dataset.status === status) return;
  node.dataset.status = status;
  setText(node, statusName(status));
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

/** The phase under way, with its round where it is not the first. */
export const phaseWords = ({ phase, iteration }) => (iteration > 1 ? `${phase}, round ${iteration}` : phase);
