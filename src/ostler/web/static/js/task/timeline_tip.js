/** The note beside the cursor of a timeline. */

import { h, replace } from "../dom.js";
import { clock, span as spanned } from "../format.js";

const KIND = { attempt: "Attempt", gate: "Gate", wait: "Wait", tool: "Tool" };

/** A small box; screen readers read it, so that a timeline can be used with the keys. */
export class TimelineTip {
  constructor() {
    this.node = h("div", { class: "tl-tip", role: "status", hidden: true });
  }

  /** Shows these lines beside a point of its parent. */
  show(x, y, lines) {
    const parts = lines.filter(Boolean).map((line, index) => h("div", { class: index ? "muted" : null }, line));
    replace(this.node, parts).hidden = false;
    const left = Math.min(Math.max(4, x + 12), this.node.parentNode.clientWidth - this.node.offsetWidth - 4);
    this.node.style.setProperty("transform", `translate(${left}px, ${y + 16}px)`);
  }

  hide() {
    this.node.hidden = true;
  }
}

/** The text of the tooltip: name, time, duration and reason. */
export function describe(one, now) {
  if (one.kind === "mark") return [one.name, clock(one.start, true)];
  const name =
    one.kind === "attempt"
      ? `#${one.number} ${one.detail}`
      : [one.name, one.kind === "tool" ? one.detail : ""].filter(Boolean).join(" ");
  const lasted = spanned((one.end ?? now) - one.start);
  const status = one.end === null && one.kind !== "gate" ? "running" : one.status.replaceAll("_", " ");
  return [
    `${KIND[one.kind]} ${name}`.slice(0, 160),
    `${clock(one.start, true)} · ${lasted} · ${status}`,
    one.kind === "gate" || one.kind === "wait" ? one.detail.slice(0, 200) : null,
  ];
}
