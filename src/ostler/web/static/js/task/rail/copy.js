/** A button that copies a text. */

import { h, icon } from "../../dom.js";
import { COPY } from "../../drawings.js";
import { copyText } from "../../work/copy.js";

export function copyButton(text) {
  return h("button", { class: "btn quiet square small-btn", type: "button", title: "Copy", on: { click: () => copyText(text, text) } }, icon(COPY, 14), h("span", { class: "hidden-text" }, `Copy ${text.slice(0, 60)}`));
}
