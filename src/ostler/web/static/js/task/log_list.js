/** A part of an attempt log as a list of entries; a tool's result goes to the line of its call. */

import { entryBody, framed } from "./log_entry.js";
import { loneAnswer, ToolRow } from "./tool_row.js";

/** The calls of one attempt that are on the page, by the agent's own ids. */
export class Calls {
  constructor() {
    this.rows = new Map();
    this.unnamed = [];
    this.lone = new Map();
  }

  /** Keeps a result whose call is not loaded yet; pages are also read backwards. */
  keep(entry, node) {
    if (entry.id) this.lone.set(entry.id, { entry, node });
  }

  /** Gives a call its result that was loaded before it. */
  join(entry, row) {
    const found = this.lone.get(entry.id);
    if (!found) return;
    this.lone.delete(entry.id);
    found.node.remove();
    row.returned(found.entry);
  }

  put(entry, row) {
    if (entry.id) this.rows.set(entry.id, row);
    else this.unnamed.push(row);
  }

  /** The call that a result belongs to; without numbers, results are in the order of the calls. */
  of(entry) {
    return entry.id ? this.rows.get(entry.id) : this.unnamed.shift();
  }

  forget(entries) {
    for (const { id } of entries) {
      this.rows.delete(id);
      this.lone.delete(id);
    }
  }
}

/** Fills `root`; `start` is the time from which entries are counted. */
export class LogList {
  constructor(root, number, start, calls = new Calls()) {
    Object.assign(this, { root, number, start, calls });
    this.toolRows = new Map();
  }

  /** Adds one entry; returns its element, or null if the entry is not shown. */
  add(entry) {
    if (entry.type === "tool_used") return this.#addCall(entry, new ToolRow(entry));
    if (entry.type === "tool_returned") return this.#answer(entry);
    const body = entryBody(entry);
    return body && this.#put(entry, body);
  }

  #addCall(entry, row) {
    this.calls.put(entry, row);
    this.calls.join(entry, row);
    return this.#putRow(entry, row);
  }

  #answer(entry) {
    const row = this.calls.of(entry);
    if (!row) return this.#addLone(entry);
    row.returned(entry);
    return row.node.closest(".entry");
  }

  #addLone(entry) {
    const node = this.#putRow(entry, loneAnswer(entry));
    this.calls.keep(entry, node);
    return node;
  }

  #putRow(entry, row) {
    const node = this.#put(entry, row.node);
    node.classList.add("is-tool");
    this.toolRows.set(node, row);
    return node;
  }

  #put(entry, body) {
    const node = framed(entry, this.number, this.start, body);
    this.root.append(node);
    return node;
  }
}

/** Opens the tool of an entry that has one. */
export function openEntry(lists, node) {
  for (const list of lists) list.toolRows.get(node)?.open();
}
