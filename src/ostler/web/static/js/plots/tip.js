/** The tooltip of a column. */

import { h, replace } from "../dom.js";
import { bucketName } from "./scale.js";
import { amount } from "./stack.js";

const WIDTH = 220;

/** Shows the values of column `at` above it; null hides them. */
export function showTip(tip, { starts, bucket, stack, format }, at, x, room) {
  tip.hidden = at === null;
  if (at === null) return;
  const parts = stack.series.filter((one) => one.values[at] || one.unknown[at]);
  replace(tip,
    h("strong", {}, bucketName(starts[at], bucket)),
    parts.map((one) => line(one, at, format)),
    parts.length === 0 && h("div", { class: "muted" }, "nothing"),
    parts.length > 1 && together(amount(stack.sums[at], stack.unknowns[at], format)));
  tip.style.setProperty("width", `${WIDTH}px`);
  tip.style.setProperty("left", `${Math.max(0, Math.min(room - WIDTH, x - WIDTH / 2))}px`);
}

function together(text) {
  return h("div", { class: "tip-line tip-sum" }, h("span", { class: "grow" }, "together"), h("span", { class: "num" }, text));
}

function line(one, at, format) {
  return h("div", { class: "tip-line" },
    h("span", { class: "swatch", data: { colour: one.colour } }),
    h("span", { class: "grow cut" }, one.name),
    h("span", { class: "num" }, amount(one.values[at], one.unknown[at], format)));
}
