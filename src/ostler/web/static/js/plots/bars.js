/** Stacked bars over time, drawn to the available width; arrow keys move through the columns. */

import { h, replace, svg } from "../dom.js";
import { bucketMark, linear, spread, ticks } from "./scale.js";
import { showTip } from "./tip.js";
import { drawToWidth } from "./width.js";

const HEIGHT = 260;
const EDGE = { top: 12, right: 8, bottom: 26, left: 52 };
const STUB = 5;

/** A plot of {starts, bucket, stack, format, line, label, describe}; `line` is {value, text}, a reference level. */
export function bars(plot) {
  const frame = h("div", { class: "plot", role: "group", "aria-label": plot.label });
  drawToWidth(frame, (width) => draw(frame, plot, width));
  return frame;
}

function draw(frame, plot, width) {
  const marks = ticks(highest(plot));
  const y = linear(marks.at(-1), HEIGHT - EDGE.bottom, EDGE.top);
  const step = (width - EDGE.left - EDGE.right) / plot.starts.length;
  const tip = h("div", { class: "tip", "aria-hidden": "true", hidden: true });
  const columns = plot.starts.map((_, at) => column(plot, at, step, y));
  const picture = svg("svg", { width, height: HEIGHT, class: "plot-svg" },
    grid(marks, y, width, plot.format),
    names(plot, step, width),
    columns,
    level(plot.line, y, width, marks.at(-1)));
  replace(frame, picture, tip);
  walk(frame, columns, (at) => showTip(tip, plot, at, EDGE.left + step * (at + 0.5), width));
}

/** Leaves out a level far above all bars, which would flatten them; the legend mentions it. */
function highest({ stack, line }) {
  const top = Math.max(0, ...stack.sums);
  return line && line.value <= 4 * top ? Math.max(top, line.value * 1.02) : top;
}

function grid(marks, y, width, format) {
  const whole = marks.every(Number.isInteger);
  const shortened = (value) => (whole ? format(value).replace(/\.00$/, "") : format(value));
  return marks.map((value) => svg("g", { "aria-hidden": "true" },
    svg("line", { class: value ? "grid" : "base", x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }),
    svg("text", { class: "mark", x: EDGE.left - 8, y: y(value) + 4, "text-anchor": "end" }, shortened(value))));
}

function names({ starts, bucket }, step, width) {
  const shown = spread(starts.length, width - EDGE.left, 64);
  return starts.map((start, at) => shown[at] && svg("text",
    { class: "mark", x: EDGE.left + step * (at + 0.5), y: HEIGHT - 8, "text-anchor": "middle", "aria-hidden": "true" },
    bucketMark(start, bucket)));
}

function column(plot, at, step, y) {
  const { stack } = plot;
  const breadth = Math.max(1, Math.min(step * 0.72, 56));
  const x = EDGE.left + step * at + (step - breadth) / 2;
  let below = 0;
  const parts = stack.series.map((one) => {
    const value = one.values[at];
    if (!value) return null;
    below += value;
    const height = y(below - value) - y(below);
    return svg("rect", { class: "part", data: { colour: one.colour }, x, y: y(below), width: breadth, height: Math.max(height - 1, 0.75) });
  });
  const stub = stack.unknowns[at] && svg("rect", { class: "unknown", x: x + 0.5, y: y(below) - STUB - 1, width: Math.max(breadth - 1, 1), height: STUB });
  const room = svg("rect", { class: "room", x: EDGE.left + step * at, y: EDGE.top, width: step, height: HEIGHT - EDGE.top - EDGE.bottom });
  return svg("g", { class: "column", role: "img", "aria-label": plot.describe(at), tabindex: "-1", data: { key: `column-${at}` } }, room, parts, stub);
}

function level(line, y, width, top) {
  if (!line || line.value > top) return null;
  const at = y(line.value);
  return svg("g", { class: "level", "aria-hidden": "true" },
    svg("line", { x1: EDGE.left, x2: width - EDGE.right, y1: at, y2: at }),
    svg("text", { x: width - EDGE.right - 4, y: at - 5, "text-anchor": "end" }, line.text));
}

/** One column is in the order of Tab, at first the last; arrows, Home and End go to the others. */
function walk(frame, columns, show) {
  columns.at(-1)?.setAttribute("tabindex", "0");
  const to = (at) => columns[Math.min(columns.length - 1, Math.max(0, at))]?.focus();
  columns.forEach((node, at) => {
    const moves = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: columns.length - 1 };
    node.addEventListener("keydown", (event) => {
      if (!(event.key in moves)) return;
      event.preventDefault();
      to(moves[event.key]);
    });
    node.addEventListener("focus", () => {
      for (const other of columns) other.setAttribute("tabindex", other === node ? "0" : "-1");
      show(at);
    });
    node.addEventListener("pointerenter", () => show(at));
    node.addEventListener("blur", () => show(null));
  });
  frame.onpointerleave = () => show(null);
}
