/** A choice between a few visible options. */

import { h } from "../dom.js";

/** Radio buttons in one line; `choose(value)` is called with the new choice. */
export function segments({ label, name, options, value, choose }) {
  return h("fieldset", { class: "segments" },
    h("legend", { class: "hidden-text" }, label),
    Object.entries(options).map(([key, text]) => segment(name, key, text, key === value, choose)));
}

function segment(name, key, text, checked, choose) {
  const input = h("input", { type: "radio", name, value: key, checked, on: { change: () => choose(key) } });
  return h("label", {}, input, h("span", {}, text));
}
