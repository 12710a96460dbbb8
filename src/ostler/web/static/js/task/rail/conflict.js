/** A conflict with the target branch: its files, and the commands for a person who solves it. */

import { h } from "../../dom.js";
import { command } from "./facts.js";

const MOST = 20;

/** The content of the section; null without a conflict. */
export function conflictBody(conflict) {
  if (!conflict) return null;
  const files = conflict.files.slice(0, MOST);
  const more = conflict.files.length - files.length;
  return [
    h("ul", { class: "rail-files" }, files.map((path) => h("li", { class: "mono" }, path)), more > 0 && h("li", {}, `and ${more} more`)),
    conflict.person.length > 0 && h("details", { class: "rail-fold" }, h("summary", {}, "Solve it yourself"), h("div", { class: "stack" }, conflict.person.map(command))),
  ];
}
