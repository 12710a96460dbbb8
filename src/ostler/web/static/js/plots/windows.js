/** When limits end, on one time axis of the next day. */

import { h } from "../dom.js";
import { clock } from "../format.js";
import { DAY, hourName, hours } from "./scale.js";
import { countdown, moment } from "./times.js";

// Hours after "now" whose marks would overlap it.
const NOW_HOURS = DAY / 12;
const NOW_HOURS_ON_A_PHONE = DAY / 6;

/** One line for each of `waits` ({name, detail, until, status}), those that end first on top. */
export function windows(waits, now = Date.now()) {
  const ordered = [...waits].sort((a, b) => moment(a.until) - moment(b.until));
  return h("div", { class: "windows" },
    ordered.map((wait) => line(wait, now)),
    axis(now));
}

function line({ name, detail, until, status }, now) {
  const end = moment(until);
  const beyond = end > now + DAY;
  const bar = h("span", { class: "window-bar", data: { status, beyond }, style: { width: share(end, now) } });
  return h("div", { class: "window" },
    h("div", { class: "window-name" }, h("span", { class: "cut" }, name), h("span", { class: "cut muted", title: detail }, detail)),
    h("div", { class: "window-lane", "aria-hidden": "true" }, lines(now), bar),
    h("div", { class: "window-end num" }, h("span", {}, clock(until)), countdown(until)));
}

function axis(now) {
  const marks = hours(now + NOW_HOURS, now + DAY * 0.97, 3);
  return h("div", { class: "window window-axis", "aria-hidden": "true" },
    h("div", { class: "window-name" }),
    h("div", { class: "window-lane" },
      h("span", { class: "window-mark now", style: { left: "0%" } }, "now"),
      marks.map((at) => h("span", { class: "window-mark", data: { hour: new Date(at).getHours() % 6, near: at < now + NOW_HOURS_ON_A_PHONE }, style: { left: share(at, now) } }, hourName(at)))),
    h("div", { class: "window-end" }));
}

function lines(now) {
  return hours(now, now + DAY, 3).map((at) => h("span", { class: "window-line", style: { left: share(at, now) } }));
}

function share(at, now) {
  return `${(Math.min(1, Math.max(0, (at - now) / DAY)) * 100).toFixed(2)}%`;
}
