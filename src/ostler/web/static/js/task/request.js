/** The request of a task: its description and its options. */

import { get, taskPath } from "../api.js";
import { h, replace } from "../dom.js";
import { markdown } from "../markdown.js";

const SHOWN_ELSEWHERE = new Set(["schema", "id", "title", "body"]);

/** The tab. */
export function requestTab(id, signal) {
  const root = h("div", { class: "card stack" });
  const open = async () => {
    try {
      replace(root, drawn(await get(taskPath(id, "request"), {}, signal)));
    } catch (error) {
      if (error.name !== "AbortError") replace(root, h("p", { class: "empty" }, error.message));
    }
  };
  return { node: root, open };
}

function drawn(request) {
  const facts = Object.entries(request).filter(([name, value]) => !SHOWN_ELSEWHERE.has(name) && isGiven(value));
  return [
    h("h2", {}, request.title),
    request.body ? markdown(request.body) : h("p", { class: "muted" }, "No description."),
    facts.length > 0 &&
      h(
        "dl",
        { class: "tool-facts" },
        facts.map(([name, value]) => h("div", {}, h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, inWords(value)))),
      ),
  ];
}

const isGiven = (value) =>
  value !== null &&
  value !== undefined &&
  value !== "" &&
  !(Array.isArray(value) && !value.length) &&
  !(typeof value === "object" && !Object.keys(value).length);

function inWords(value) {
  if (Array.isArray(value))
    return value.map((one) => (typeof one === "object" ? JSON.stringify(one) : String(one))).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
