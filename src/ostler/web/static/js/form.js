/** Parts of forms. */

import { h } from "./dom.js";

let count = 0;

/** A control with its label above it. */
export function field(text, control) {
  control.id ||= `field-${++count}`;
  return h("div", { class: "field" }, h("label", { for: control.id }, text), control);
}

/** A choice of names; with `none`, one more for nothing. */
export function options(name, names, chosen = "", none = null) {
  const list = names.map((each) => h("option", { value: each, selected: each === chosen }, each));
  return h("select", { name }, none !== null && h("option", { value: "" }, none), list);
}

/** The values of a form by name; a box is true or false. */
export function readForm(form) {
  const named = [...form.elements].filter((control) => control.name);
  return Object.fromEntries(named.map((control) => [control.name, control.type === "checkbox" ? control.checked : control.value.trim()]));
}
