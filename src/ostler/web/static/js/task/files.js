/** The files that a task left: to download, never shown in place. */

import { get, taskPath } from "../api.js";
import { h, replace } from "../dom.js";
import { bytes } from "../format.js";
import { fileAddress } from "./gates.js";

const AT_ONCE = 300;

/** The tab; it reloads each time it is opened. */
export function filesTab(id, signal) {
  const root = h("div", { class: "card" });
  const open = async () => {
    try {
      const { files } = await get(taskPath(id, "files"), {}, signal);
      replace(root, files.length ? table(id, files) : h("p", { class: "empty" }, "No files yet."));
    } catch (error) {
      if (error.name !== "AbortError") replace(root, h("p", { class: "empty" }, error.message));
    }
  };
  return { node: root, open };
}

function table(id, files) {
  const body = h("tbody", {});
  const more = h("button", { class: "btn quiet", type: "button", on: { click: () => grow() } });
  let shown = 0;
  const grow = () => {
    body.append(...files.slice(shown, shown + AT_ONCE).map((file) => row(id, file)));
    shown += AT_ONCE;
    more.hidden = shown >= files.length;
    more.textContent = `Show more (${files.length - shown} left)`;
  };
  grow();
  const head = h("tr", {}, h("th", { scope: "col" }, "File"), h("th", { scope: "col", class: "num" }, "Size"));
  return [h("table", { class: "files" }, h("thead", {}, head), body), more];
}

function row(id, file) {
  const link = h("a", { href: fileAddress(id, file.path), download: file.path.split("/").at(-1) }, file.path);
  return h("tr", {}, h("td", { class: "mono" }, link), h("td", { class: "num" }, bytes(file.size)));
}
