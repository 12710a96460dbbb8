/** A graph of steps: curves behind, and a card for each step that can be opened. */

import { h, replace, svg } from "../dom.js";
import { drawToWidth } from "../plots/width.js";
import { layered } from "./layers.js";
import { placed } from "./places.js";

const EDGE = 4; // room for the outline of the focused element

/** A frame and `show(nodes)`: draws nodes {id, after, status}; `card(node)` returns the element of a node. */
export function graph(card) {
  const frame = h("div", { class: "graph", role: "group", "aria-label": "Steps and what each one needs" });
  let nodes = [];
  const redraw = () => frame.clientWidth && draw(frame, placed(layered(nodes), frame.clientWidth - 2 * EDGE), card);
  drawToWidth(frame, redraw);
  return {
    frame,
    show(given) {
      nodes = given;
      redraw();
    },
  };
}

function draw(frame, { boxes, curves, width, height }, card) {
  const picture = svg("svg", { class: "graph-lines", width, height, "aria-hidden": "true" }, curves.map((one) => edge(one, boxes)));
  const shown = [...boxes.values()].filter(({ node }) => node).map((box) => stand(card(box.node), box));
  const sheet = h("div", { class: "graph-sheet", style: { width: `${width}px`, height: `${height}px` } }, picture, shown);
  replace(frame, sheet);
}

/** A line has the colour of its target while that runs, and is strong after a completed step. */
function edge({ from, to, path }, boxes) {
  const [source, target] = [boxes.get(from).node, boxes.get(to).node];
  const state = target.status === "in_progress" ? "at-work" : ["completed", "approved"].includes(source.status) ? "passed" : "ahead";
  return svg("path", { d: path, data: { state } });
}

function stand(card, { x, y, width, height }) {
  for (const [name, value] of Object.entries({ left: x, top: y, width, height })) card.style.setProperty(name, `${value}px`);
  return card;
}
