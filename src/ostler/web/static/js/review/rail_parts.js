/** Sections of a rail, and the verdicts of gates in it. */

import { h, replace } from "../dom.js";

const MARKS = { pass: ["✓", "ok"], fail: ["✗", "bad"], could_not_run: ["!", "warn"], overruled: ["!", "warn"] };

/** A section of a rail; `fill` shows or hides it. */
export function section(title) {
  const heading = h("h2", { class: "rail-title" }, title);
  const body = h("div", { class: "rail-body" });
  return { node: h("section", { class: "rail-section" }, heading, body), heading, body };
}

/** Fills a section; without content it is hidden. A null title stays. */
export function fill({ node, heading, body }, title, content) {
  if (title !== null) heading.textContent = title;
  node.hidden = !content;
  replace(body, content);
}

/** A gate with its verdict. */
export function gateRow({ name, verdict, reason, detail, current, by, sha }) {
  const [mark, tone] = MARKS[verdict] ?? ["·", "muted"];
  const why = verdict === "pending" ? "waits for you" : verdict === "overruled" ? `overruled by ${by ?? "a person"}` : reason || detail;
  const text = current || !sha ? why : `of an older commit, ${sha.slice(0, 7)}`;
  return h("li", { class: "rail-gate", data: { tone, current: String(current), failed: String(["fail", "could_not_run"].includes(verdict) && current) }, title: [reason, detail, by && `by ${by}`].filter(Boolean).join("\n") },
    h("span", { class: "rail-mark", "aria-hidden": "true" }, mark),
    h("span", { class: "cut" }, name, h("span", { class: "hidden-text" }, ` ${verdict.replaceAll("_", " ")}`)),
    h("span", { class: "muted cut rail-reason" }, text));
}
