/** Times of the API, and texts that count with the clock. */

import { h } from "../dom.js";
import { span } from "../format.js";
import { every } from "./fresh.js";

/** Milliseconds of a time of the API: RFC 3339 or epoch seconds. */
export function moment(time) {
  return typeof time === "number" ? time * 1000 : Date.parse(time);
}

function untilText(time, now = Date.now()) {
  const left = (moment(time) - now) / 1000;
  return left > 0 ? `in ${span(left)}` : "due now";
}

function sinceText(time, now = Date.now()) {
  return span((now - moment(time)) / 1000);
}

/** A text that counts down to a time. */
export function countdown(time) {
  return h("span", { class: "muted num", data: { until: moment(time) / 1000 } }, untilText(time));
}

/** A text that counts up from a time. */
export function countup(time) {
  return h("span", { class: "num", data: { since: moment(time) / 1000 } }, sinceText(time));
}

/** Rewrites the counting texts below `root` once a second. */
export function keepCounting(root, signal) {
  every(1, () => count(root), signal);
}

function count(root) {
  if (document.hidden) return;
  for (const node of root.querySelectorAll("[data-until]")) write(node, untilText(Number(node.dataset.until)));
  for (const node of root.querySelectorAll("[data-since]")) write(node, sinceText(Number(node.dataset.since)));
}

function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
