/** Whole texts of a task's files and their colours, each loaded once. */

import { get, taskPath } from "../../api.js";
import { linesOf } from "./file_lines.js";
import { languageOf } from "./languages.js";

const LONGEST_COLOURED = 500_000; // characters

/** Texts by blob id; `signal` ends its worker. */
export class Texts {
  #task;
  #signal;
  #blobs = new Map();
  #colours = new Map();
  #asked = new Map();
  #worker = null;

  constructor(task, signal) {
    this.#task = task;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#worker?.terminate(), { once: true });
  }

  /** The lines of a blob, or null if it is not available as a whole. */
  lines(blob) {
    if (!blob) return Promise.resolve(null);
    if (!this.#blobs.has(blob)) {
      const loading = this.#load(blob);
      this.#blobs.set(blob, loading);
      loading.catch(() => this.#blobs.delete(blob));
    }
    return this.#blobs.get(blob);
  }

  /** The colours of a blob's lines (markup_ranges.js); empty if its language is unknown or it is too long. */
  colours(blob, path) {
    const language = languageOf(path);
    const key = `${blob} ${language}`;
    if (!blob || !language) return Promise.resolve([]);
    if (!this.#colours.has(key)) this.#colours.set(key, this.#colour(blob, language));
    return this.#colours.get(key);
  }

  async #load(blob) {
    const { text, truncated } = await get(taskPath(this.#task, "blobs", blob), {}, this.#signal);
    return truncated ? null : linesOf(text);
  }

  async #colour(blob, language) {
    const text = (await this.lines(blob))?.join("\n");
    if (!text || text.length > LONGEST_COLOURED) return [];
    this.#worker ??= this.#start();
    return new Promise((resolve) => {
      this.#asked.set(this.#asked.size, resolve);
      this.#worker.postMessage({ id: this.#asked.size - 1, language, text });
    });
  }

  #start() {
    const worker = new Worker(new URL("./highlight_worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data: { id, lines } }) => this.#asked.get(id)(lines));
    worker.addEventListener("error", () => this.#asked.forEach((resolve) => resolve([])));
    return worker;
  }
}
