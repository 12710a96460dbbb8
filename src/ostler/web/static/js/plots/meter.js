/** Bars that show how much of something is used. */

import { h } from "../dom.js";

/** A bar of `value` of `top`, with a mark at `mark`; `says` is the text for screen readers. */
export function meter({ value, top, mark = null, tone = "run", says }) {
  const bar = h("span", { class: "meter-fill", style: { width: percent(value, top) } });
  const line = mark !== null && h("span", { class: "meter-mark", style: { left: percent(mark, top) } });
  return h("span", { class: "meter", data: { tone }, role: "img", "aria-label": says }, bar, line);
}

/** One small block for each place of a pool; beyond 32 places it is a plain bar. */
export function slots({ active, size, says }) {
  if (size > 32) return meter({ value: active, top: size, says });
  const blocks = Array.from({ length: size }, (_, at) => h("span", { class: "slot", data: { taken: at < active } }));
  return h("span", { class: "slots", role: "img", "aria-label": says }, blocks);
}

/** A share as a width. */
export function percent(value, top) {
  const share = top > 0 ? Math.min(1, Math.max(0, value / top)) : 0;
  return `${(share * 100).toFixed(2)}%`;
}
