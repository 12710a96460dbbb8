/** The header of a file, which stays visible while its lines scroll. */

import { h, replace } from "../../dom.js";
import { revealName } from "../../hidden.js";
import { choice, counts, pathName, statusName } from "../parts.js";

/** `file` is a FileView. */
export class FileHeader {
  constructor(file) {
    this.file = file;
    const { data, changes } = file;
    this.foldButton = h("button", { class: "fold", type: "button", on: { click: () => file.fold(!file.isFolded) } });
    this.viewed = h("input", { type: "checkbox", on: { change: () => changes.setViewed(file, this.viewed.checked) } });
    this.switch = choice("How to show this file", [["rendered", "Rendered"], ["source", "Source"]], file.isRendered ? "rendered" : "source", (value) => file.render(value === "rendered"));
    this.count = h("span", { class: "comment-count" });
    this.node = h("header", { class: "file-head", tabindex: "-1" },
      this.foldButton,
      h("h2", { class: "file-path mono" }, names(data), copyButton(data, changes)),
      data.generated && h("span", { class: "chip plain" }, "Generated"),
      data.status !== "modified" && h("span", { class: "chip plain" }, statusName(data.status)),
      this.count,
      data.additions + data.deletions > 0 && counts(data.additions, data.deletions),
      file.hasSource && this.switch.node,
      changes.review && h("label", { class: "viewed" }, this.viewed, h("span", {}, "Viewed")));
  }

  update() {
    const { file } = this;
    this.foldButton.textContent = file.isFolded ? "▶" : "▼";
    this.foldButton.setAttribute("aria-expanded", String(!file.isFolded));
    this.foldButton.setAttribute("aria-label", `${file.isFolded ? "Unfold" : "Fold"} ${file.data.path}`);
    this.viewed.checked = file.changes.isViewed(file.data);
    this.switch.press(file.isRendered ? "rendered" : "source");
    const number = file.changes.review?.countIn(file.data.path) ?? 0;
    replace(this.count, number > 0 && h("span", { role: "img", "aria-label": `${number} comments` }, `● ${number}`));
  }
}

function names({ path, old_path: old, status }) {
  if (!old || old === path || !["renamed", "copied"].includes(status)) return h("span", { class: "path", title: revealName(path) }, pathName(path));
  return h("span", { class: "path is-moved", title: revealName(`${old} → ${path}`) }, h("span", { class: "path" }, pathName(old)), h("span", {}, "→"), h("span", { class: "path" }, pathName(path)));
}

function copyButton({ path }, changes) {
  const copy = () => navigator.clipboard.writeText(path).then(() => changes.notify(`Copied: ${path}`), () => changes.notify("The browser does not allow copying."));
  return h("button", { class: "copy-path", type: "button", "aria-label": `Copy the path ${path}`, title: "Copy the path", on: { click: copy } });
}
