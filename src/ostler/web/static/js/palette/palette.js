/** The command palette: a dialog with a field, and a list of the tasks and commands that match it. */

import { get } from "../api.js";
import { h, icon, replace } from "../dom.js";
import { SEARCH } from "../drawings.js";
import { statusName } from "../format.js";
import { go } from "../router.js";
import { refused } from "../toast.js";
import { matching, selectedTask, taskCommands } from "./commands.js";

const TYPING_MS = 120;
const MOST_TASKS = 8;

/** Opens it; `commands` are those that do not depend on a task: {text, keys, run}. */
export function openPalette(commands) {
  new Palette(commands).open();
}

class Palette {
  #commands;
  #own = null;
  #tasks = [];
  #options = [];
  #at = 0;
  #moved = false;
  #loading = false;
  #leaving = new AbortController();
  #asking = new AbortController();
  #timer = 0;
  #field = h("input", {
    type: "text", role: "combobox", "aria-label": "Search tasks and commands", "aria-expanded": "true", "aria-controls": "palette-list",
    "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", placeholder: "Search tasks and commands", autofocus: true,
  });
  #list = h("div", { class: "palette-list", id: "palette-list", role: "listbox", "aria-label": "Tasks and commands" });
  #none = h("p", { class: "palette-none muted", role: "status" });
  #dialog = h("dialog", { class: "palette", "aria-label": "Command palette" },
    h("div", { class: "palette-field row" }, icon(SEARCH), this.#field, h("button", { class: "btn quiet small-btn", type: "button", on: { click: () => this.close() } }, "Close", h("kbd", { "aria-hidden": "true" }, "Esc"))),
    this.#list, this.#none);

  constructor(commands) {
    this.#commands = commands;
  }

  open() {
    const task = selectedTask();
    document.body.append(this.#dialog);
    this.#dialog.addEventListener("close", () => this.#end());
    this.#dialog.addEventListener("click", (event) => event.target === this.#dialog && this.close());
    this.#field.addEventListener("input", () => this.#typed());
    this.#field.addEventListener("keydown", (event) => this.#key(event));
    this.#dialog.showModal();
    this.#loading = Boolean(task);
    this.#draw();
    this.#search();
    if (task) this.#loadOwn(task);
  }

  close() {
    this.#dialog.close();
  }

  #end() {
    this.#leaving.abort();
    this.#asking.abort();
    clearTimeout(this.#timer);
    this.#dialog.remove();
  }

  #typed() {
    this.#moved = false;
    this.#draw();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#search(), TYPING_MS);
  }

  /** The tasks that match, the last changed first; an older request is given up. */
  async #search() {
    this.#asking.abort();
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    try {
      const { tasks } = await get("/tasks", { q: this.#field.value.trim(), sort: "updated", limit: MOST_TASKS }, signal);
      if (signal.aborted) return;
      this.#tasks = tasks;
      this.#draw();
    } catch (error) {
      refused(error);
    }
  }

  async #loadOwn(id) {
    try {
      this.#own = await taskCommands(id, this.#leaving.signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.status !== 404) refused(error);
    }
    this.#loading = false;
    this.#draw();
  }

  #draw() {
    const query = this.#field.value.trim();
    const own = matching(this.#own?.commands ?? [], query);
    const commands = matching(this.#commands, query);
    const tasks = matching(this.#tasks.map((task) => ({ task, text: `${task.title} ${task.id}` })), query).map(({ task }) => ({ task, run: () => go(`/tasks/${encodeURIComponent(task.id)}`) }));
    const kept = this.#options[this.#at]?.key;
    const groups = [[this.#own?.title, own], [query && "Tasks", query ? tasks : []], ["Commands", commands], [!query && "Last changed tasks", query ? [] : tasks]];
    const filled = groups.filter(([name, items]) => name && items.length);
    this.#options = filled.flatMap(([name, items]) => items.map((item) => ({ ...item, key: item.task?.id ?? name + item.text })));
    // Options that arrive later do not move under the cursor of the person, and Enter acts on none that is not loaded.
    const again = this.#moved ? this.#options.findIndex(({ key }) => key === kept) : -1;
    this.#at = again < 0 && this.#loading && !query ? -1 : Math.max(0, again);
    let index = 0;
    replace(this.#list, filled.map(([name, items], group) => {
      const head = h("div", { class: "palette-head", id: `palette-group-${group}`, role: "presentation" }, name);
      return h("div", { role: "group", "aria-labelledby": `palette-group-${group}` }, head, items.map((item) => this.#option(item, index++)));
    }));
    this.#none.textContent = this.#options.length ? "" : "Nothing matches.";
    this.#mark();
  }

  #option({ task, text, keys }, index) {
    const node = h("div", { class: "palette-option row", role: "option", id: `palette-${index}`, "aria-selected": "false" },
      task ? taskText(task) : [h("span", { class: "grow cut" }, text), keys && h("kbd", { class: "key" }, keys)]);
    node.addEventListener("click", () => this.#run(index));
    node.addEventListener("pointermove", () => this.#point(index));
    return node;
  }

  #point(index) {
    this.#moved = true;
    if (this.#at !== index) this.#mark(index);
  }

  #key(event) {
    const { length } = this.#options;
    const to = { ArrowDown: this.#at + 1, ArrowUp: Math.max(this.#at, 0) - 1 + length, PageDown: Math.min(this.#at + 8, length - 1), PageUp: Math.max(this.#at - 8, 0) }[event.key];
    this.#moved ||= to !== undefined;
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) this.close();
    else if (event.key === "Enter") this.#run(this.#at);
    else if (to !== undefined && length) this.#mark(to % length);
    else return;
    event.preventDefault();
  }

  /** Selects an option; -1 selects none. */
  #mark(index = this.#at) {
    this.#list.querySelector('[aria-selected="true"]')?.setAttribute("aria-selected", "false");
    this.#at = index;
    const option = this.#list.querySelector(`#palette-${index}`);
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) this.#field.setAttribute("aria-activedescendant", option.id);
    else this.#field.removeAttribute("aria-activedescendant");
  }

  #run(index) {
    const option = this.#options[index];
    if (!option) return;
    this.close();
    option.run();
  }
}

function taskText({ title, id, status, code }) {
  return [h("span", { class: "cut" }, title), h("span", { class: "grow cut mono muted small" }, id), h("span", { class: "chip", data: { status } }, statusName(status, code))];
}
