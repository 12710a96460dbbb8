/** From values to positions on the screen. */

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A function from [0, top] to [from, to]. */
export function linear(top, from, to) {
  return (value) => from + ((to - from) * value) / (top || 1);
}

/** Round values from 0 to at least `top`: steps of 1, 2 or 5 times a power of ten. */
export function ticks(top, about = 4) {
  if (!(top > 0)) return [0, 1];
  const raw = top / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= raw) ?? 10);
  const count = Math.ceil(top / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, number) => Number((number * step).toPrecision(12)));
}

/** Which of `count` labels to write so that each has `room` pixels of `width`; the last one always is. */
export function spread(count, width, room) {
  const every = Math.max(1, Math.ceil((count * room) / Math.max(width, 1)));
  return Array.from({ length: count }, (_, number) => (count - 1 - number) % every === 0);
}

/** Whole hours in local time between two times, `step` hours apart. */
export function hours(from, to, step) {
  const first = new Date(from);
  first.setMinutes(0, 0, 0);
  const found = [];
  for (let at = first.getTime() + HOUR; at < to; at += HOUR) {
    if (new Date(at).getHours() % step === 0) found.push(at);
  }
  return found;
}

/** An hour in local time: 21, or 9 PM. */
export function hourName(at) {
  return new Date(at).toLocaleTimeString([], { hour: "numeric" });
}

/** The name of a bucket: Sun 15 Nov, or 14:00. */
export function bucketName(start, bucket) {
  const at = new Date(start);
  if (bucket === "hour") return at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return at.toLocaleDateString([], { weekday: "short", day: "numeric", month: "short" });
}

/** The same, short enough for an axis. */
export function bucketMark(start, bucket) {
  if (bucket === "hour") return hourName(start);
  return new Date(start).toLocaleDateString([], { day: "numeric", month: "short" });
}

export { DAY, HOUR };
