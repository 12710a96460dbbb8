/** The drawing of a timeline: lanes with bars for attempts, ticks for tools, diamonds for gates, hatches for waits. */

import { svg } from "../dom.js";
import { span as spanned } from "../format.js";
import { toolAt } from "./lanes.js";
import { placeOf, ticks, timeAt } from "./scale.js";

const TOP = 24;
const MARK = 20;
const LANE = 46;
const NARROW_LANE = 58;
const SLIM_LANE = 38;
const BAR = 22;
const RIGHT = 12;
const EDGE = 10;
const TOOL = 5;
const MOST_TICKS = 3000;

/** The layout: the size of the drawing, x(time) and timeOf(x), top(lane). A slim one has neither axis nor names. */
export function layout(lanes, scale, view, width, slim = false) {
  const narrow = width < 560;
  const left = narrow || slim ? EDGE : 108;
  const lane = slim ? SLIM_LANE : narrow ? NARROW_LANE : LANE;
  const head = slim ? 0 : TOP;
  const inner = Math.max(50, width - left - RIGHT);
  const x = (time) => left + ((placeOf(scale, time) - view.from) / (view.to - view.from)) * inner;
  const timeOf = (pixel) => timeAt(scale, view.from + ((pixel - left) / inner) * (view.to - view.from));
  return {
    width,
    left,
    inner,
    lane,
    narrow,
    slim,
    head,
    height: head + lanes.length * lane + (slim ? 0 : 6),
    x,
    timeOf,
    top: (index) => head + index * lane + (slim ? 4 : narrow ? 20 : 6),
  };
}

/** The nodes of the drawing. */
export function drawTimeline({ lanes, marks, scale, view, place, now, chosen }) {
  const inside = svg("svg", {
    x: place.left - EDGE,
    y: 0,
    width: place.inner + 2 * EDGE,
    height: place.height,
    viewBox: `${place.left - EDGE} 0 ${place.inner + 2 * EDGE} ${place.height}`,
    class: "tl-inside",
  });
  inside.append(...lanes.flatMap((lane, index) => drawLane(lane, index, place, now, chosen)), ...breaks(scale, place));
  if (place.slim) return [hatch(), inside];
  inside.append(...marks.map((mark) => svg("circle", { cx: place.x(mark.at), cy: MARK, r: 2.5, class: "tl-mark" })));
  return [hatch(), ...axis(scale, view, place), ...lanes.map((lane, index) => laneName(lane, index, place)), inside];
}

function hatch() {
  const lines = svg("path", { d: "M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4", class: "tl-hatch" });
  return svg("defs", {}, svg("pattern", { id: "tl-wait", width: 8, height: 8, patternUnits: "userSpaceOnUse" }, lines));
}

function axis(scale, view, place) {
  const wanted = Math.max(3, Math.floor(place.inner / 90));
  let last = -Infinity;
  return ticks(scale, view.from, view.to, wanted).flatMap(({ time, after, step }) => {
    const x = place.x(time);
    const line = svg("line", { x1: x, x2: x, y1: TOP - 4, y2: place.height, class: "tl-grid" });
    if (x - last < 52 || x > place.width - 24) return [line];
    last = x;
    return [
      line,
      svg(
        "text",
        {
          x: Math.max(x, place.left + 2),
          y: 12,
          class: "tl-tick",
          "text-anchor": x < place.left + 20 ? "start" : "middle",
        },
        tickName(after, step),
      ),
    ];
  });
}

function tickName(seconds, step) {
  if (seconds < 60) return `${Number(seconds.toFixed(2))} s`;
  const two = (value) => String(value).padStart(2, "0");
  const whole = step < 1 ? Math.floor(seconds + 1e-6) : Math.round(seconds);
  const part = step < 1 ? (seconds - whole).toFixed(2).slice(1) : "";
  if (whole < 3600) return `${Math.floor(whole / 60)}:${two(whole % 60)}${part}`;
  if (step < 60) return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}${part}`;
  if (whole < 172_800) return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)} h`;
  return `${Math.floor(whole / 86_400)} d ${Math.floor(whole / 3600) % 24} h`;
}

function breaks(scale, place) {
  return scale
    .filter((piece) => piece.folded)
    .flatMap((piece) => {
      const from = place.x(piece.from);
      const to = place.x(piece.to);
      const teeth = `M${zigzag(from, place)} L${zigzag(to, place, true)} Z`;
      const [x, y] = [(from + to) / 2, (place.head + place.height) / 2];
      const label = !place.slim && svg(
        "text",
        { x, y, class: "tl-break-name", "text-anchor": "middle", transform: `rotate(-90 ${x} ${y})`, dy: 4 },
        spanned(piece.to - piece.from),
      );
      return [svg("path", { d: teeth, class: "tl-break" }), label].filter(Boolean);
    });
}

function zigzag(x, { head, height }, up = false) {
  const points = [];
  for (let y = Math.max(0, head - 4), side = 2; y <= height; y += 6, side = -side) points.push(`${x + side},${y}`);
  return (up ? points.reverse() : points).join(" L");
}

function laneName(lane, index, place) {
  const y = place.narrow ? TOP + index * place.lane + 14 : place.top(index) + BAR / 2 + 4;
  const shown = lane.name.length > 15 ? `${lane.name.slice(0, 14)}…` : lane.name;
  return svg("text", { x: place.narrow ? place.left : 0, y, class: "tl-lane" }, shown, svg("title", {}, lane.name));
}

function drawLane(lane, index, place, now, chosen) {
  const y = place.top(index);
  const rail = svg("line", {
    x1: place.left,
    x2: place.left + place.inner,
    y1: y + BAR / 2,
    y2: y + BAR / 2,
    class: "tl-rail",
  });
  const attempts = lane.attempts.filter((one) => isSeen(one, place, now));
  return [
    rail,
    ...lane.waits.map((one) => drawWait(one, y, place, now)),
    ...lane.gates.filter((one) => one.status === "waiting").map((one) => drawWait(one, y, place, now)),
    ...lane.iterations
      .filter((one) => one.number > 1 && isSeen(one, place, now))
      .map((one) => drawIteration(one, y, place)),
    ...attempts.map((one) => drawAttempt(one, y, place, now, chosen)),
    ...attempts.map((one) => drawTools(one, y, place)).filter(Boolean),
    ...lane.gates.map((one) => drawGate(one, y, place, chosen)),
  ];
}

const isSeen = (one, place, now) =>
  place.x(one.end ?? now) >= place.left - 4 && place.x(one.start) <= place.left + place.inner + 4;

function box(one, place, now, least = 3) {
  const from = place.x(one.start);
  return { x: from, width: Math.max(least, place.x(one.end ?? now) - from) };
}

function drawWait(one, y, place, now) {
  return svg("rect", {
    ...box(one, place, now),
    y: y + 3,
    height: BAR - 6,
    rx: 3,
    class: "tl-wait",
    fill: "url(#tl-wait)",
    data: { status: one.status },
  });
}

function drawIteration(one, y, place) {
  const x = place.x(one.start);
  return svg(
    "g",
    { class: "tl-iteration" },
    svg("line", { x1: x, x2: x, y1: y - 5, y2: y + BAR + TOOL + 5 }),
    svg("text", { x: x + 3, y: y + BAR + TOOL + 9 }, one.number),
  );
}

function drawAttempt(one, y, place, now, chosen) {
  const { x, width } = box(one, place, now);
  const status = one.end === null ? "running" : one.status;
  const from = Math.max(x, place.left);
  const room = Math.min(x + width, place.left + place.inner) - from;
  const name = [`#${one.number} ${one.detail}`, `#${one.number}`].find((text) => text.length * 6.4 + 12 < room);
  return svg(
    "g",
    { class: "tl-attempt", data: { status, chosen: String(chosen === one.number) } },
    svg("rect", { x, y, width, height: BAR, rx: Math.min(4, width / 2) }),
    name && svg("text", { x: from + 6, y: y + 15 }, name),
  );
}

/** All ticks of an attempt are one path: ten thousand tools are one node. */
function drawTools(one, y, place) {
  const { tools } = one;
  const every = Math.max(1, Math.ceil(tools.length / MOST_TICKS));
  let d = "";
  for (let index = 0; index < tools.length; index += every) {
    const x = place.x(tools[index].start);
    const width = tools[index].end === null ? 2 : Math.max(1.5, place.x(tools[index].end) - x - 1);
    d += `M${x.toFixed(1)},${y + BAR + 2}h${width.toFixed(1)}v${TOOL}h${(-width).toFixed(1)}z`;
  }
  return d && svg("path", { d, class: "tl-tools" });
}

/** A waiting gate is drawn at its start, a decided one at its end. */
const gatePlace = (one, place) => place.x(one.status === "waiting" ? one.start : (one.end ?? one.start));

function drawGate(one, y, place, chosen) {
  const x = gatePlace(one, place);
  const middle = y + BAR / 2;
  return svg("path", {
    d: `M${x},${middle - 9} l9,9 l-9,9 l-9,-9 z`,
    class: "tl-gate",
    data: { status: one.status, chosen: String(chosen === one.id) },
  });
}

/** The item at a point: a mark, a tool, a gate, an attempt or a wait. */
export function hit({ lanes, marks, place, now }, x, y) {
  const index = Math.floor((y - place.head) / place.lane);
  if (index < 0) return markAt(marks, place, x);
  const lane = lanes[index];
  if (!lane) return null;
  const over = (one) =>
    x >= place.x(one.start) - 3 && x <= Math.max(place.x(one.end ?? now), place.x(one.start) + 3) + 3;
  const attempt = lane.attempts.findLast(over);
  const tool = attempt && y > place.top(index) + BAR - 2 ? toolUnder(attempt, place, x) : null;
  const gate = lane.gates.find((one) => Math.abs(gatePlace(one, place) - x) < 9);
  return tool ?? gate ?? attempt ?? [...lane.waits, ...lane.gates].find(over) ?? null;
}

function markAt(marks, place, x) {
  const mark = marks.findLast((one) => Math.abs(place.x(one.at) - x) < 5);
  return mark ? { kind: "mark", name: mark.text, start: mark.at, end: mark.at } : null;
}

function toolUnder(attempt, place, x) {
  const slack = place.timeOf(x + 3) - place.timeOf(x);
  const tool = toolAt(attempt, place.timeOf(x), slack);
  return tool && { ...tool, attempt: attempt.number };
}
