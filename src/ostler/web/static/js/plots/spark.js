/** The last minutes of a value as a small line. */

import { svg } from "../dom.js";
import { linear } from "./scale.js";

const WIDTH = 240;
const HEIGHT = 36;

/** The values from left to right, between 0 and `top`; decoration, as the newest value is written beside it. */
export function spark(values, top, room = 60) {
  const x = linear(room - 1, 0, WIDTH);
  const y = linear(top, HEIGHT - 1, 1);
  const first = room - values.length;
  const points = values.map((value, at) => `${x(first + at).toFixed(1)},${y(Math.min(value, top)).toFixed(1)}`);
  return svg("svg", { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("polyline", { points: points.join(" "), "vector-effect": "non-scaling-stroke" }));
}
