/** One setting: its name, its meaning, its control, and where its value comes from. */

import { h, replace } from "../dom.js";
import { control } from "./control.js";

const UNITS = [["_seconds", "seconds"], ["_usd", "$"], ["_mb", "MB"]];
const NAMES = {
  stop_at: "Stop new tasks at", keep_for_me: "Keep for me", on: "Events", on_exceed: "When a task exceeds it", task_usd: "Of one task",
  day_usd: "Of all tasks per day", use_before_reset_seconds: "Time before the reset",
};
const SHARES = new Set(["stop_at", "keep_for_me"]);
let count = 0;

/** `problems` are messages by key, of the last attempt to save. */
export function settingRow(setting, draft, problems) {
  const id = `setting-${++count}`;
  const { name, unit } = title(setting.key);
  const note = h("p", { class: "setting-source muted" });
  const field = control(setting, draft.value(setting), (value) => {
    draft.set(setting, value);
    mark();
  }, id);
  const row = h("div", { class: "setting", title: setting.meaning, data: { key: setting.key } },
    h("div", { class: "setting-about" },
      h("label", { for: id }, name),
      h("p", { class: "muted" }, sentence(setting.meaning.replace(/^true: /, ""))),
      note),
    h("div", { class: "setting-control" }, field, unit && h("span", { class: "muted" }, unit)),
    problems.has(setting.key) && h("p", { class: "form-error setting-problem", role: "alert" }, sentence(problems.get(setting.key))));

  function mark() {
    row.dataset.changed = draft.has(setting.key);
    replace(note, source(setting, draft.has(setting.key)), canReset(setting, draft) && resetButton(setting, draft));
  }

  mark();
  return row;
}

/** A name for people, from the last part of a key, and the unit that is part of it. */
export function title(key) {
  const last = key.split(".").at(-1);
  const [ending, unit] = UNITS.find(([each]) => last.endsWith(each)) ?? ["", SHARES.has(last) ? "of 1" : ""];
  const words = (ending ? last.slice(0, -ending.length) : last).replaceAll("_", " ");
  return { name: NAMES[last] ?? words[0].toUpperCase() + words.slice(1), unit };
}

export function sentence(text) {
  const whole = text ? text[0].toUpperCase() + text.slice(1) : "";
  return whole && !/[.:]$/.test(whole) ? `${whole}.` : whole;
}

function source({ source: from, layer }, isChanged) {
  if (isChanged) return h("strong", { class: "setting-changed" }, "Not saved");
  return layer === "default" ? "Default" : h("span", { class: "mono" }, from);
}

function canReset({ key, layer }, draft) {
  return !draft.has(key) && (layer === "project file" || layer === "user file");
}

function resetButton(setting, draft) {
  const click = () => draft.reset(setting);
  return h("button", { class: "link-btn", type: "button", data: { redraw: "yes" }, on: { click } }, "Use the default");
}
