/** The last few actions of each running task, for the lines on its card. */

import { get } from "../api.js";
import { activity, groupAfter } from "./happened.js";

const KEPT = 3;
const BACK = 400;
const LONG = 300;

/** Keeps the last actions; empty until the first event. */
export class Actions {
  #of = new Map();

  /** The last actions, the newest at the end; each with the number of its event. */
  of(id) {
    return this.#of.get(id) ?? [];
  }

  /** Adds an event, which may be an older one. */
  take(event) {
    const group = groupAfter(event);
    if (group && group !== "running") this.#of.delete(event.task_id);
    const text = activity(event);
    if (!text) return;
    const others = this.of(event.task_id).filter(({ seq }) => seq !== event.seq);
    const verb = event.type === "tool_used" && !event.denied ? event.verb : "";
    const action = { seq: event.seq, verb, text: text.slice(verb.length, LONG).trim() };
    this.#of.set(event.task_id, [...others, action].sort((one, other) => one.seq - other.seq).slice(-KEPT));
  }

  /** Reads the events shortly before `position`. */
  async recall(position, signal) {
    const after = Math.max(0, position - BACK);
    const { events } = await get("/events", { after, limit: BACK }, signal);
    for (const event of events) this.take(event);
  }
}
