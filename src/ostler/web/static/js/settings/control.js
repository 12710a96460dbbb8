/** The control of one setting, by the type of its value. */

import { h } from "../dom.js";

/** An element that calls `changed(value)`; null is a value that is not set, or the default. */
export function control({ key, control: { type, choices, optional }, default: usual }, value, changed, id) {
  if (type === "boolean") return box(key, value, changed, id);
  if (type === "choice") return select(key, choices, value, changed, id);
  if (type === "choices") return boxes(key, choices, value ?? [], changed, id);
  const placeholder = optional ? "not set" : String(usual ?? "");
  const field = h("input", { id, name: key, inputmode: type === "text" ? "text" : "decimal", autocomplete: "off", placeholder });
  field.value = value ?? "";
  field.addEventListener("input", () => changed(read(type, field.value.trim())));
  return field;
}

/** What is not a number is sent as it is: the server names the mistake. */
function read(type, text) {
  if (text === "") return null;
  const number = Number(text.replace(/^\$/, "").replace(",", "."));
  return type === "text" || Number.isNaN(number) ? text : number;
}

function box(key, value, changed, id) {
  const field = h("input", { id, name: key, type: "checkbox", checked: value === true });
  field.addEventListener("change", () => changed(field.checked));
  return h("span", { class: "check" }, field);
}

function select(key, choices, value, changed, id) {
  const field = h("select", { id, name: key }, choices.map((each) => h("option", { value: each, selected: each === value }, each)));
  field.addEventListener("change", () => changed(field.value));
  return field;
}

function boxes(key, choices, value, changed, id) {
  const chosen = new Set(value);
  const each = (name) => {
    const field = h("input", { type: "checkbox", name: key, value: name, checked: chosen.has(name) });
    field.addEventListener("change", () => {
      if (field.checked) chosen.add(name);
      else chosen.delete(name);
      changed(choices.filter((one) => chosen.has(one)));
    });
    return h("label", { class: "row check" }, field, name.replaceAll("_", " "));
  };
  return h("div", { class: "setting-boxes", role: "group", id }, choices.map(each));
}
