/** The models in their order, which can be changed with buttons. */

import { h, icon } from "../dom.js";
import { DOWN, UP } from "../drawings.js";
import { settingRow } from "./row.js";

/** `settings` are those of all models; `redraw` is called after a change of the order. */
export function modelList(settings, draft, problems, redraw) {
  const models = grouped(settings);
  const saved = models.map(({ name }) => name);
  const order = draft.models?.length === saved.length ? draft.models : saved;
  const shown = order.map((name) => models.find((one) => one.name === name)).filter(Boolean);

  function move(from, to) {
    const names = [...order];
    names.splice(to, 0, ...names.splice(from, 1));
    draft.order(names, saved);
    redraw(`move-${names[to]}-${to < from ? "up" : "down"}`);
  }

  return h("ol", { class: "setting-models" }, shown.map((model, at) => h("li", { class: "card stack" },
    h("div", { class: "row" },
      h("span", { class: "num muted" }, `${at + 1}.`),
      h("div", { class: "grow cut" }, h("strong", {}, model.name), h("span", { class: "muted" }, ` ${model.about}`)),
      mover(model.name, "up", UP, at > 0 && (() => move(at, at - 1))),
      mover(model.name, "down", DOWN, at < shown.length - 1 && (() => move(at, at + 1)))),
    h("div", { class: "setting-columns" }, model.settings.filter((one) => one.editable).map((one) => settingRow(one, draft, problems))))));
}

function mover(name, way, drawing, click) {
  const props = { class: "btn quiet square", type: "button", disabled: !click, title: `Move ${name} ${way}`, data: { key: `move-${name}-${way}` }, on: click ? { click } : {} };
  return h("button", props, icon(drawing), h("span", { class: "hidden-text" }, `Move ${name} ${way}`));
}

function grouped(settings) {
  const found = new Map();
  for (const one of settings) {
    const [, index, field] = /^models\[(\d+)\]\.(.*)$/.exec(one.key) ?? [];
    if (index === undefined) continue;
    const model = found.get(index) ?? { settings: [] };
    found.set(index, model);
    model.settings.push(one);
    if (["name", "executor", "model"].includes(field)) model[field] = one.value;
  }
  return [...found.values()].map((one) => ({ ...one, about: [one.executor, one.model].filter(Boolean).join(", ") }));
}
