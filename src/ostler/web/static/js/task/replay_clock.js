/** The time of a replay: runs at a speed, and skips idle gaps. */

const QUIET_SECONDS = 1;
const LEAD_SECONDS = 0.25;

export const SPEEDS = [1, 2, 5, 20, 100];

/** `times` are those at which something happens, in order; those after `limit` are not known yet. */
export class ReplayClock {
  constructor(times, start, end, limit = Infinity) {
    Object.assign(this, { times, start, end, limit, time: start, speed: 5, skipsQuiet: true });
  }

  /** Advances by so many seconds of real time; returns the time of the replay. */
  advance(seconds) {
    const wanted = this.time + seconds * this.speed;
    const next = this.times[countUntil(this.times, this.time)] ?? Math.min(this.limit, this.end);
    const quiet = this.skipsQuiet && next - wanted > QUIET_SECONDS * this.speed;
    return this.seek(quiet ? next - LEAD_SECONDS * this.speed : wanted);
  }

  seek(time) {
    this.time = Math.min(this.end, Math.max(this.start, time));
    return this.time;
  }

  get isOver() {
    return this.time >= this.end;
  }
}

/** The number of sorted times that are not after this one. */
export function countUntil(times, time) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
