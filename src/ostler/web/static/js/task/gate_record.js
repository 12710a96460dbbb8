/** What is recorded about a gate: how its command ran, and what a person has to look at. */

import { h } from "../dom.js";

const MOST = 20;

/** The facts as [label, [line, ...]]; a fact without lines is left out. */
export function gateFacts({ check, guarded, checks, cause }) {
  const facts = [
    ["Command", one(check?.command)],
    ["Isolation", one(check?.isolation === "none" ? "not isolated" : check?.isolation)],
    ["No environment", one(check?.no_environment)],
    ["Control", one(check?.control)],
    ["Could not run", one(cause)],
    ["Links to your checkout", check?.links],
    ["Quality checks", checks],
    ["Weakened checks", check?.weakened],
    ["Only a person approves", guarded],
  ];
  return facts.filter(([, lines]) => lines?.length);
}

/** The same as an element; null without any fact. */
export function gateRecord(gate) {
  const facts = gateFacts(gate);
  if (!facts.length) return null;
  const row = ([label, lines]) => h("div", {}, h("dt", {}, label), h("dd", {}, list(lines)));
  return h("dl", { class: "tool-facts" }, facts.map(row));
}

const one = (text) => (text ? [text] : []);

function list(lines) {
  const shown = lines.slice(0, MOST).map((line) => h("div", {}, line));
  return lines.length > MOST ? [...shown, h("div", {}, `and ${lines.length - MOST} more`)] : shown;
}
