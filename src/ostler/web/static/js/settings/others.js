/** The settings that only a terminal changes, with the command. */

import { h, icon } from "../dom.js";
import { COPY } from "../drawings.js";
import { copyText } from "../work/copy.js";
import { sentence } from "./row.js";

/** One block for each table of the settings. */
export function otherSettings(settings) {
  const tables = new Map();
  for (const one of settings) {
    const table = /^[^.[]+/.exec(one.key)[0];
    tables.set(table, [...(tables.get(table) ?? []), one]);
  }
  return [...tables].map(([table, list]) => h("details", { class: "setting-table" },
    h("summary", {}, h("strong", { class: "mono" }, `[${table}]`), h("span", { class: "muted num" }, ` ${list.length}`)),
    h("ul", {}, list.map(line))));
}

function line({ key, value, source, layer, meaning, command }) {
  return h("li", { class: "setting-fixed" },
    h("div", { class: "row wrap" },
      h("strong", { class: "mono" }, key),
      h("span", { class: "mono setting-value" }, text(value)),
      h("span", { class: "muted" }, layer === "default" ? "default" : source)),
    meaning && h("p", { class: "muted" }, sentence(meaning)),
    h("div", { class: "row setting-command" }, h("code", { class: "cut" }, command), copyButton(command)));
}

function text(value) {
  if (value === null) return "not set";
  return typeof value === "string" ? value || "empty" : JSON.stringify(value);
}

/** A button that copies a command. */
export function copyButton(command) {
  return h("button", { class: "btn quiet square", type: "button", title: "Copy the command", on: { click: () => copyText(command, command) } },
    icon(COPY), h("span", { class: "hidden-text" }, `Copy ${command}`));
}
