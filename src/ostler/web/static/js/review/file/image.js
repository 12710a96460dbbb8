/** The old and the new version of an image side by side. */

import { address, taskPath } from "../../api.js";
import { h } from "../../dom.js";
import { bytes } from "../../format.js";

/** `file` is one of ostler.changes/1. */
export function imageBody(task, file) {
  const sides = [
    ["Before", file.old_blob, file.old_size],
    ["After", file.new_blob, file.new_size],
  ].filter(([, blob]) => blob);
  return { node: h("div", { class: "image-pair" }, sides.map((side) => picture(task, file.path, side))) };
}

function picture(task, path, [name, blob, size]) {
  const text = h("span", { class: "muted" }, bytes(size ?? 0));
  const image = h("img", { src: address(taskPath(task, "images", blob)), alt: `${path}, ${name.toLowerCase()}` });
  image.addEventListener("load", () => (text.textContent = `${image.naturalWidth} × ${image.naturalHeight}, ${bytes(size ?? 0)}`));
  image.addEventListener("error", () => (text.textContent = `${bytes(size ?? 0)}; this format is not shown`));
  return h("figure", { class: "image-side", data: { side: name.toLowerCase() } }, h("figcaption", {}, h("b", {}, name), " ", text), h("div", { class: "image-frame" }, image));
}
