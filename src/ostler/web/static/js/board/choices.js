/** The filters that are chosen from a list. */

import { get } from "../api.js";
import { h } from "../dom.js";
import { statusName } from "../format.js";
import { session } from "../session.js";
import { GROUP_NAMES, statusesOf } from "./happened.js";

/** Every status, in the order of the board. */
export function statusChoice(chosen) {
  return fill(select("Status", "Any status"), GROUP_NAMES.flatMap(statusesOf), chosen, (status) => statusName(status));
}

/** All priorities. */
export function priorityChoice(chosen) {
  const node = select("Priority", "Any priority");
  session().then(({ priorities }) => fill(node, priorities, chosen));
  return node;
}

/** The runs of pipelines; without any it is not shown. */
export function pipelineChoice(chosen, signal) {
  const node = select("Pipeline", "Any pipeline");
  node.hidden = !chosen;
  get("/pipelines", {}, signal).then(({ pipelines }) => fillRuns(node, pipelines, chosen), () => fillRuns(node, [], chosen));
  return node;
}

function fillRuns(node, pipelines, chosen) {
  const runs = new Set([...pipelines.map(({ run }) => run), chosen].filter(Boolean));
  fill(node, [...runs], chosen).hidden = !runs.size;
}

function select(label, any) {
  return h("select", { "aria-label": label }, h("option", { value: "" }, any));
}

function fill(node, names, chosen, labelOf = (name) => name) {
  node.append(...names.map((name) => h("option", { value: name, selected: name === chosen }, labelOf(name))));
  return node;
}
