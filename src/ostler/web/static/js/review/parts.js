/** Small parts of the review page. */

import { h } from "../dom.js";
import { revealedName } from "../hidden.js";

const LETTERS = { added: "A", modified: "M", deleted: "D", renamed: "R", copied: "C", type_changed: "T" };
const NAMES = { added: "Added", modified: "Modified", deleted: "Deleted", renamed: "Renamed", copied: "Copied", type_changed: "Type changed" };
export const KINDS = { change: "Change", question: "Question", remark: "Remark" };

/** +12 −3 */
export function counts(added, removed) {
  return h("span", { class: "counts num mono", role: "img", "aria-label": `${added} lines added, ${removed} removed` },
    h("span", { class: "count-added" }, `+${added.toLocaleString("en")}`),
    h("span", { class: "count-removed" }, `−${removed.toLocaleString("en")}`));
}

/** The letter of a status, as git prints it. */
export function statusLetter(status) {
  return h("span", { class: "status-letter mono", role: "img", "aria-label": NAMES[status], data: { change: status }, title: NAMES[status] }, LETTERS[status]);
}

export const statusName = (status) => NAMES[status];

/** A path with its last part in bold. */
export function pathName(path) {
  const cut = path.lastIndexOf("/") + 1;
  return [cut > 0 && h("span", { class: "path-folder" }, revealedName(path.slice(0, cut))), h("strong", { class: "cut" }, revealedName(path.slice(cut)))];
}

/** Buttons of which one is pressed: [value, text] pairs. */
export function choice(label, options, chosen, choose) {
  const press = (value) => {
    for (const [index, [one]] of options.entries()) node.children[index].setAttribute("aria-pressed", String(one === value));
  };
  const button = ([value, text]) =>
    h("button", { class: "choice-one", type: "button", "aria-pressed": String(value === chosen), on: { click: () => (press(value), choose(value)) } }, text);
  const node = h("div", { class: "choice", role: "group", "aria-label": label }, options.map(button));
  return { node, press };
}

/** "dry_run.py:17", "dry_run.py:17–20" or "The whole change"; only the name is cut. */
export function placeName({ path, line, end_line: end }) {
  if (!path) return h("span", {}, "The whole change");
  const lines = line ? `:${line}${end > line ? `–${end}` : ""}` : "";
  return h("span", { class: "path" }, h("span", { class: "cut" }, revealedName(path.slice(path.lastIndexOf("/") + 1))), h("span", {}, lines));
}

/** "Line 17" or "Lines 17 to 20" */
export function linesName({ path, line, end_line: end, side }) {
  if (!path) return "The whole change";
  if (!line) return "The whole file";
  const text = end > line ? `Lines ${line} to ${end}` : `Line ${line}`;
  return side === "old" ? `${text}, before the change` : text;
}
