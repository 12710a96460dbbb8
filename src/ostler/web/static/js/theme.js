/** Light, dark, or as the system is: the switch of the top bar. */

import { h, icon, replace } from "./dom.js";
import { MOON, SCREEN, SUN } from "./drawings.js";

const KEY = "ostler.theme";
const CHOICES = {
  system: { name: "System", drawing: SCREEN },
  light: { name: "Light", drawing: SUN },
  dark: { name: "Dark", drawing: MOON },
};

/** A button that switches to the next theme; paint.js applies it. */
export function themeSwitch() {
  const button = h("button", { class: "btn quiet square", type: "button", on: { click: () => choose(button, next()) } });
  return label(button);
}

function choose(button, theme) {
  localStorage.setItem(KEY, theme);
  dispatchEvent(new Event("theme"));
  label(button);
}

function label(button) {
  const { name, drawing } = CHOICES[chosen()];
  button.title = `Theme: ${name.toLowerCase()}`;
  return replace(button, icon(drawing), h("span", { class: "hidden-text" }, button.title));
}

function next() {
  const names = Object.keys(CHOICES);
  return names[(names.indexOf(chosen()) + 1) % names.length];
}

function chosen() {
  const kept = localStorage.getItem(KEY);
  return kept in CHOICES ? kept : "system";
}
