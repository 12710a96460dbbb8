/** A replay of a finished task at any speed. Needs no server if all data is passed in. */

import { h, replace } from "../dom.js";
import { clock, span } from "../format.js";
import { busyTimes } from "./lanes.js";
import { countUntil, ReplayClock, SPEEDS } from "./replay_clock.js";
import { makeScale, placeOf, timeAt } from "./scale.js";
import { Calls, LogList } from "./log_list.js";
import { refused } from "../toast.js";
import { TimelineView } from "./timeline.js";

const MOST_SHOWN = 400;
const FINEST = 10_000;

/**
 * Puts a player into `root`. `logs` are [{number, entries}]; without a `timelineView` it draws its own. With a `source`
 * (ReplayLog), the logs are those from the time `from` to the time `to`, and others are read when they are needed.
 * Returns {play, pause, seek(time), close}.
 */
export function createReplay(root, { task, timeline, ...part }, { source = null, timelineView = null, signal = undefined } = {}) {
  const replay = new Replay(task, timeline, part, source, timelineView);
  replace(root, replay.node);
  replay.timelineView.draw();
  const stop = new AbortController();
  for (const type of ["keydown", "keyup"]) document.addEventListener(type, (event) => replay.key(event), { signal: stop.signal });
  const close = () => {
    stop.abort();
    replay.pause();
    replay.timelineView.moveCursor(null);
  };
  signal?.addEventListener("abort", close, { once: true });
  replay.seek(replay.clock.start);
  return { play: () => replay.play(), pause: () => replay.pause(), seek: (time) => replay.seek(time), close };
}

class Replay {
  constructor(task, timeline, part, source, timelineView) {
    this.source = source;
    this.starts = new Map(task.attempts.map((one) => [one.number, Date.parse(one.started_at) / 1000]));
    this.#take(part);
    const end = Math.max(timeline.end ?? timeline.now ?? 0, source ? 0 : (this.times.at(-1) ?? 0));
    const start = Math.min(timeline.start, this.times[0] ?? timeline.start);
    this.clock = new ReplayClock(this.times, start, end, this.to);
    this.scale = makeScale([...busyTimes(timeline, end), ...this.times.map((at) => [at, at])], start, end);
    this.count = 0;
    this.loading = false;
    this.running = null;
    this.timelineView = timelineView ?? ownTimeline(timeline, (time) => this.seek(time));
    this.#build(task, timelineView ? null : this.timelineView.node);
  }

  play() {
    if (this.running !== null) return;
    if (this.clock.isOver) this.seek(this.clock.start);
    let last = performance.now();
    const frame = (now) => {
      if (!this.loading) this.#show(this.clock.advance(Math.min(0.25, (now - last) / 1000)));
      last = now;
      if (this.clock.isOver) this.pause();
      else this.running = requestAnimationFrame(frame);
    };
    this.running = requestAnimationFrame(frame);
    this.#drawButton();
  }

  pause() {
    if (this.running !== null) cancelAnimationFrame(this.running);
    this.running = null;
    this.#drawButton();
  }

  seek(time) {
    this.#show(this.clock.seek(time));
  }

  /** Space plays and pauses, except where it types or ticks; a button of the replay and the tab are pressed with Enter. */
  key(event) {
    if (event.key !== " " || event.defaultPrevented || !this.node.isConnected || this.node.closest("[hidden]")) return;
    if (event.target.closest?.("input:not([type=range]), textarea, select, a, summary, dialog, [popover]")) return;
    const button = event.target.closest?.("button");
    if (button && !this.node.contains(button) && button.role !== "tab") return;
    event.preventDefault(); // keyup as well: a button is pressed by it
    if (event.type === "keydown" && !event.repeat) this.#toggle();
  }

  #build(task, drawing) {
    this.button = h("button", { class: "btn primary play", type: "button", on: { click: () => this.#toggle() } });
    this.scrubber = h("input", {
      type: "range",
      class: "scrubber",
      min: 0,
      max: FINEST,
      step: 1,
      "aria-label": "Position in the replay",
      on: { input: () => this.seek(timeAt(this.scale, Number(this.scrubber.value) / FINEST)) },
    });
    this.when = h("output", { class: "num muted replay-when" });
    this.list = h("div", {
      class: "transcript replay-list",
      tabindex: "0",
      role: "log",
      "aria-live": "off",
      "aria-label": `Replay of ${task.title || task.id}`,
    });
    const bar = h(
      "div",
      { class: "replay-bar row wrap" },
      this.button,
      this.#speeds(),
      this.#quiet(),
      this.when,
      h("div", { class: "replay-scrub" }, this.scrubber),
    );
    this.node = h(
      "div",
      { class: "replay stack" },
      drawing,
      h(
        "section",
        { class: "transcript-pane", "aria-label": "Replay" },
        h("div", { class: "transcript-bar" }, bar),
        this.list,
      ),
    );
    this.#drawButton();
  }

  #speeds() {
    const choose = (speed) => () => {
      this.clock.speed = speed;
      for (const one of group.children) one.setAttribute("aria-pressed", String(one.dataset.speed === String(speed)));
    };
    const button = (speed) =>
      h(
        "button",
        {
          class: "btn quiet",
          type: "button",
          data: { speed },
          "aria-pressed": String(speed === this.clock.speed),
          on: { click: choose(speed) },
        },
        `${speed}×`,
      );
    const group = h("div", { class: "speeds row", role: "group", "aria-label": "Speed" }, SPEEDS.map(button));
    return group;
  }

  #quiet() {
    const box = h("input", {
      type: "checkbox",
      checked: this.clock.skipsQuiet,
      on: { change: () => (this.clock.skipsQuiet = box.checked) },
    });
    return h("label", { class: "row skip-quiet" }, box, "Skip idle time");
  }

  #toggle() {
    if (this.running === null) this.play();
    else this.pause();
  }

  #drawButton() {
    const playing = this.running !== null;
    replace(this.button, playing ? "Pause" : this.clock.isOver ? "Play again" : "Play", h("kbd", {}, "space"));
    this.button.dataset.playing = String(playing);
  }

  /** Takes a part of the logs. */
  #take({ logs, from = -Infinity, to = Infinity }) {
    this.entries = inOrder(logs, this.starts);
    this.times = this.entries.map(({ at }) => at);
    Object.assign(this, { from, to });
    if (this.clock) Object.assign(this.clock, { times: this.times, limit: to });
  }

  /** Reads the part around the time of the clock, which is stopped meanwhile. */
  async #load() {
    if (this.loading) return;
    this.loading = true;
    try {
      for (let time = null; time !== this.clock.time;) {
        time = this.clock.time;
        this.#take(await this.source.around(time));
      }
      this.#begin(Math.max(0, countUntil(this.times, this.clock.time) - MOST_SHOWN));
    } catch (error) {
      this.pause();
      refused(error);
      return;
    } finally {
      this.loading = false;
    }
    this.#show(this.clock.time);
  }

  /** Shows the state at a time: the entries until then, the cursor, the clock. */
  #show(time) {
    if (this.source && (time < this.from || time > this.to)) return void this.#load();
    const count = countUntil(this.times, time);
    if (count < this.count || count - this.count > MOST_SHOWN) this.#begin(Math.max(0, count - MOST_SHOWN));
    if (count !== this.count) this.#add(count);
    this.list.dataset.live = String(!this.clock.isOver);
    this.timelineView.moveCursor(time);
    this.scrubber.value = String(Math.round(placeOf(this.scale, time) * FINEST));
    this.when.textContent = `${clock(time, true)} · ${span(time - this.clock.start)} of ${span(this.clock.end - this.clock.start)}`;
  }

  #begin(first) {
    this.list.replaceChildren();
    this.lists = new Map();
    this.count = first;
  }

  #add(count) {
    for (const { number, entry, start } of this.entries.slice(this.count, count))
      this.#listOf(number, start).add(entry);
    this.count = count;
    while (this.list.childElementCount > MOST_SHOWN) this.list.firstElementChild.remove();
    this.list.scrollTop = this.list.scrollHeight;
  }

  #listOf(number, start) {
    this.lists ??= new Map();
    if (!this.lists.has(number)) this.lists.set(number, new LogList(this.list, number, start, new Calls()));
    return this.lists.get(number);
  }
}

/** All entries by time; those of one attempt stay in the order in which they were written. */
function inOrder(logs, starts) {
  const all = logs.flatMap(({ number, entries }) => monotone(number, entries, starts.get(number) ?? entries[0].at));
  return all.sort((left, right) => left.at - right.at || left.number - right.number);
}

function monotone(number, entries, start) {
  let at = 0;
  return entries.map((entry) => {
    at = Math.max(at, entry.at);
    return { number, entry, at, start };
  });
}

function ownTimeline(timeline, seek) {
  const view = new TimelineView({
    tool: (_, time) => seek(time),
    attempt: (number) => seek(timeline.spans.find((one) => one.kind === "attempt" && one.number === number).start),
  });
  view.update(timeline);
  return view;
}
