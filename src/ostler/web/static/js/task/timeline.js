/** The timeline of a task: to scale, with zoom, a cursor, keys, and a table with the same content. */

import { h, replace, svg } from "../dom.js";
import { clock, span as spanned } from "../format.js";
import { busyTimes, lanesOf, mergedLane, stopsOf } from "./lanes.js";
import { makeScale } from "./scale.js";
import { drawTimeline, hit, layout } from "./timeline_draw.js";
import { timelineTable } from "./timeline_table.js";
import { describe, TimelineTip } from "./timeline_tip.js";

const DEEPEST_ZOOM = 0.0005;
const OPEN = "ostler.timeline.open";

/**
 * `on.attempt(number)`, `on.tool(number, time)` and `on.gate()` are called for the selected item. With `strip` it is one
 * line until it is opened.
 */
export class TimelineView {
  constructor(on = {}, { strip = false } = {}) {
    Object.assign(this, {
      on,
      strip,
      slim: strip && localStorage.getItem(OPEN) !== "true",
      timeline: null,
      lanes: [],
      scale: null,
      view: { from: 0, to: 1 },
      chosen: null,
      focus: -1,
      cursor: null,
      drag: null,
    });
    this.drawing = svg("svg", { class: "tl-svg", "aria-hidden": "true" });
    this.line = svg("line", { class: "tl-cursor", y1: 0 });
    this.tip = new TimelineTip();
    this.area = h(
      "div",
      {
        class: "tl-area",
        tabindex: "0",
        role: "application",
        "aria-label": "Timeline: use the left and right arrow keys to select an attempt, Enter to open it",
      },
      this.drawing,
      this.tip.node,
    );
    this.table = h("details", { class: "tl-table" }, h("summary", {}, "As a table"));
    this.table.addEventListener("toggle", () => this.#drawTable());
    this.node = h("section", { class: strip ? "tl" : "tl card", "aria-label": "Timeline", data: { slim: String(this.slim) } }, this.#head(), this.area, this.table);
    this.#listen();
  }

  /** Shows this timeline; a live one is drawn up to now. */
  update(timeline) {
    this.timeline = timeline;
    this.skew = (timeline.now ?? Date.now() / 1000) - Date.now() / 1000;
    this.allLanes = lanesOf(timeline);
    this.#arrange();
    this.#drawTable();
  }

  /** Draws it again after time has passed or the size has changed. */
  draw() {
    const width = this.area.clientWidth;
    if (!this.timeline || !width) return;
    this.scale = makeScale(busyTimes(this.timeline, this.now), this.timeline.start, this.now);
    this.place = layout(this.lanes, this.scale, this.view, width, this.slim);
    this.drawing.setAttribute("height", this.place.height);
    this.drawing.setAttribute("width", width);
    replace(this.drawing, drawTimeline(this.#all), this.line);
    this.#drawCursor();
  }

  get now() {
    return this.timeline.end ?? Math.max(Date.now() / 1000 + this.skew, this.timeline.start + 1);
  }

  /** Marks the attempt that the transcript shows. */
  choose(number) {
    this.chosen = number;
    this.draw();
  }

  /** Puts the cursor at a time, for a replay; null removes it. */
  moveCursor(time) {
    this.cursor = time;
    this.#drawCursor();
  }

  /** Zooms around a position of the view, from 0 to 1. */
  zoom(factor, around = 0.5) {
    const { from, to } = this.view;
    const size = Math.min(1, Math.max(DEEPEST_ZOOM, (to - from) * factor));
    this.#look(from + (to - from) * around - size * around, size);
  }

  fit() {
    this.#look(0, 1);
  }

  /** Shows one line, or a lane for each phase. */
  toggle() {
    this.slim = !this.slim;
    localStorage.setItem(OPEN, String(!this.slim));
    this.node.dataset.slim = String(this.slim);
    this.#drawToggle();
    if (this.timeline) this.#arrange();
  }

  #arrange() {
    this.lanes = this.slim ? mergedLane(this.allLanes) : this.allLanes;
    this.draw();
  }

  #drawToggle() {
    this.toggleButton.setAttribute("aria-expanded", String(!this.slim));
    this.toggleButton.title = this.slim ? "Show the timeline phase by phase (t)" : "Show the timeline in one line (t)";
    this.toggleButton.textContent = this.slim ? "Timeline ▾" : "Timeline ▴";
  }

  #look(from, size) {
    const start = Math.min(1 - size, Math.max(0, from));
    this.view = { from: start, to: start + size };
    this.fitButton.disabled = size >= 1;
    this.draw();
  }

  #head() {
    const button = (text, label, run) =>
      h("button", { class: "btn quiet", type: "button", "aria-label": label, title: label, on: { click: run } }, text);
    this.fitButton = button("Fit", "Fit all", () => this.fit());
    this.fitButton.disabled = true;
    this.toggleButton = h("button", { class: "btn quiet tl-toggle", type: "button", on: { click: () => this.toggle() } });
    if (this.strip) this.#drawToggle();
    return h(
      "div",
      { class: "row tl-head" },
      this.strip ? [this.toggleButton, h("span", { class: "grow" })] : h("h2", { class: "grow" }, "Timeline"),
      button("−", "Zoom out", () => this.zoom(2)),
      button("+", "Zoom in", () => this.zoom(0.5)),
      this.fitButton,
    );
  }

  #listen() {
    new ResizeObserver(() => this.draw()).observe(this.area);
    this.area.addEventListener("pointermove", (event) => this.#pointed(event));
    this.area.addEventListener("pointerleave", () => this.#left());
    this.area.addEventListener("pointerdown", (event) => this.#grab(event));
    this.area.addEventListener("click", (event) => this.#clicked(event));
    this.area.addEventListener("wheel", (event) => this.#wheeled(event), { passive: false });
    this.area.addEventListener("keydown", (event) => this.#keyed(event));
    this.area.addEventListener("blur", () => this.tip.hide());
  }

  /** All data of the drawing. */
  get #all() {
    const { lanes, scale, view, place, now, chosen } = this;
    return { lanes, scale, view, place, now, chosen, marks: this.timeline.marks };
  }

  #under(event) {
    const room = this.area.getBoundingClientRect();
    const [x, y] = [event.clientX - room.left, event.clientY - room.top];
    return { x, y, found: hit(this.#all, x, y) };
  }

  #pointed(event) {
    if (!this.place) return;
    if (this.drag && event.buttons) return this.#pull(event);
    const { x, y, found } = this.#under(event);
    this.area.classList.toggle("is-over", Boolean(found) && !["wait", "mark"].includes(found.kind));
    this.hover = x >= this.place.left ? this.place.timeOf(x) : null;
    this.#drawCursor();
    if (this.hover === null) this.tip.hide();
    else
      this.tip.show(
        x,
        y,
        found
          ? describe(found, this.now)
          : [clock(this.hover, true), `${spanned(this.hover - this.timeline.start)} after the start`],
      );
  }

  #left() {
    this.hover = null;
    this.drag = null;
    this.#drawCursor();
    this.tip.hide();
  }

  #grab(event) {
    this.drag = { x: event.clientX, from: this.view.from, moved: false };
  }

  #pull(event) {
    const by = event.clientX - this.drag.x;
    if (Math.abs(by) > 4) this.drag.moved = true;
    const size = this.view.to - this.view.from;
    if (this.drag.moved && size < 1) this.#look(this.drag.from - (by / this.place.inner) * size, size);
  }

  #clicked(event) {
    if (!this.place || this.drag?.moved) return;
    this.#open(this.#under(event).found);
  }

  #open(found) {
    if (!found) return;
    if (found.kind === "tool") this.on.tool?.(found.attempt, found.start);
    if (found.kind === "attempt") this.on.attempt?.(found.number);
    if (found.kind === "gate") this.on.gate?.(found);
  }

  /** With a modifier the wheel zooms, sideways it moves; otherwise it scrolls the page. */
  #wheeled(event) {
    if (!this.place) return;
    const zooms = event.ctrlKey || event.metaKey || event.altKey;
    const sideways = event.shiftKey
      ? event.deltaY || event.deltaX
      : Math.abs(event.deltaX) > Math.abs(event.deltaY)
        ? event.deltaX
        : 0;
    const size = this.view.to - this.view.from;
    if (!zooms && (!sideways || size >= 1)) return;
    event.preventDefault();
    const x = event.clientX - this.area.getBoundingClientRect().left;
    if (zooms)
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.min(1, Math.max(0, (x - this.place.left) / this.place.inner)));
    else this.#look(this.view.from + (sideways / this.place.inner) * size, size);
  }

  #keyed(event) {
    const stops = stopsOf(this.lanes);
    const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
    if (event.key in steps && stops.length) {
      event.preventDefault();
      this.focus = Math.min(stops.length - 1, Math.max(0, this.focus + steps[event.key]));
      this.#visit(stops[this.focus]);
    } else if (event.key === "Enter" && stops[this.focus]) this.#open(stops[this.focus]);
  }

  #visit(stop) {
    this.hover = stop.start;
    this.#drawCursor();
    const index = this.lanes.findIndex((lane) => [...lane.attempts, ...lane.gates, ...lane.waits].includes(stop));
    this.tip.show(this.place.x(stop.start), this.place.top(index) + 20, describe(stop, this.now));
  }

  #drawCursor() {
    const time = this.hover ?? this.cursor;
    const shown = time !== null && time !== undefined && this.place;
    this.line.setAttribute("visibility", shown ? "visible" : "hidden");
    if (!shown) return;
    const x = this.place.x(time);
    for (const [name, value] of [
      ["x1", x],
      ["x2", x],
      ["y2", this.place.height],
    ])
      this.line.setAttribute(name, value);
  }

  #drawTable() {
    if (!this.table.open || !this.timeline) return;
    replace(
      this.table,
      this.table.firstChild,
      timelineTable(this.allLanes, this.now, (found) => this.#open(found)),
    );
  }
}
