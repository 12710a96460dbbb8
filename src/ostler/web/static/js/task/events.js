/** All events of a task, page by page and live. */

import { get } from "../api.js";
import { h } from "../dom.js";
import { clock } from "../format.js";
import { refused } from "../toast.js";

const PAGE = 200;
const MOST_ROWS = 2000;
const ENVELOPE = new Set(["schema", "seq", "time", "task_id", "type"]);

/** The tab; `receive(event)` adds an event of the live feed after all earlier ones. */
export function eventsTab(id, signal) {
  const body = h("tbody", {});
  const more = h("button", { class: "btn", type: "button", on: { click: () => load() } }, "Show more");
  const head = ["Position", "Time", "Event", "Details"].map((name) =>
    h("th", { scope: "col", class: name === "Position" ? "num" : null }, name),
  );
  const root = h(
    "div",
    { class: "card scroll-x" },
    h("table", { class: "events" }, h("thead", {}, h("tr", {}, head)), body),
    more,
  );
  const state = { after: 0, all: false, busy: false };
  const load = async () => {
    if (state.busy) return;
    state.busy = true;
    try {
      const { events, next } = await get("/events", { task: id, after: state.after, limit: PAGE }, signal);
      add(body, events);
      Object.assign(state, { after: next, all: events.length < PAGE });
      more.hidden = state.all;
    } catch (error) {
      refused(error);
    } finally {
      state.busy = false;
    }
  };
  const receive = (event) => {
    if (!state.all || event.seq <= state.after) return;
    state.after = event.seq;
    add(body, [event]);
  };
  return { node: root, open: () => state.after || load(), receive };
}

function add(body, events) {
  body.append(...events.map(row));
  while (body.childElementCount > MOST_ROWS) body.firstElementChild.remove();
}

function row(event) {
  const rest = Object.entries(event).filter(([name, value]) => !ENVELOPE.has(name) && value !== null && value !== "");
  return h(
    "tr",
    {},
    h("td", { class: "num faint" }, event.seq),
    h("td", { class: "event-time" }, clock(event.time, true)),
    h("td", { class: "mono" }, event.type),
    h(
      "td",
      { class: "event-text" },
      rest.map(([name, value]) => fact(name, value)),
    ),
  );
}

function fact(name, value) {
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return h(
    "span",
    { class: "event-fact" },
    h("span", { class: "faint" }, `${name} `),
    text.length > 300 ? `${text.slice(0, 300)}…` : text,
  );
}
