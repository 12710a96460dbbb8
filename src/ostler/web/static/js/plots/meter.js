/** Bars that show how much of something is used. */

import { h } from "../dom.js";

/** A bar of `value` of `top`, with a mark at `mark`; `description` is the text for screen readers. */
export function meter({ value, top, mark = null, tone = "run", description }) {
  const bar = h("span", { class: "meter-fill", style: { width: percent(value, top) } });
  const line = mark !== null && h("span", { class: "meter-mark", style: { left: percent(mark, top) } });
  return h("span", { class: "meter", data: { tone }, role: "img", "aria-label": description }, bar, line);
}

/** One small block for each slot of a pool; beyond 32 slots it is a plain bar. */
export function slots({ active, size, description }) {
  if (size > 32) return meter({ value: active, top: size, description });
  const blocks = Array.from({ length: size }, (_, at) => h("span", { class: "slot", data: { taken: at < active } }));
  return h("span", { class: "slots", role: "img", "aria-label": description }, blocks);
}

/** A share as a width. */
export function percent(value, top) {
  const share = top > 0 ? Math.min(1, Math.max(0, value / top)) : 0;
  return `${(share * 100).toFixed(2)}%`;
}
