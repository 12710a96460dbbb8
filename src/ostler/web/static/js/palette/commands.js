/** The commands of the palette: what can be done with the selected task, the pages, and what every page has. */

import { get, taskPath } from "../api.js";
import { perform } from "../perform_action.js";
import { PREFIX } from "../place.js";
import { go } from "../router.js";
import { ask, fitting, NAMES, send } from "../task/actions.js";
import { answersOf, workActions } from "../work/answers.js";

/** {text, about, keys, run} for each page and for what every page has; `common` are those of other modules. */
export function pageCommands(pages, common) {
  const goTo = Object.entries(pages).map(([key, [path, name]]) => ({ text: `Go to ${name}`, keys: `g ${key}`, run: () => go(path) }));
  return [...common, ...goTo];
}

/** The task that the palette is about: the focused one, or the one of the page. */
export function selectedTask() {
  const focused = document.activeElement?.closest("[data-task]")?.dataset.task;
  const shown = /^\/tasks\/([^/]+)/.exec(location.pathname.slice(PREFIX.length))?.[1];
  return focused ?? (shown && decodeURIComponent(shown)) ?? null;
}

/** The commands for a task: {title, commands}; null if there is no such task. */
export async function taskCommands(id, signal) {
  const [task, inbox, list] = await Promise.all([
    get(taskPath(id), {}, signal),
    get("/inbox", { q: id, limit: 50 }, signal),
    get("/tasks", { q: id, limit: 50 }, signal),
  ]);
  const row = [...inbox.items, ...list.tasks].find((one) => one.id === id) ?? { ...task, asks: null };
  const answers = answersOf(row).map(([verb, text, keys]) => ({ verb, text, keys, run: () => perform(verb, row) }));
  const work = workActions(row).filter(({ allowed }) => allowed).map(({ verb, text }) => ({ verb, text, run: () => perform(verb, row) }));
  const given = new Set([...answers, ...work].map(({ verb }) => verb));
  const others = fitting(task).filter((verb) => !given.has(verb)).map((verb) => ({ verb, text: NAMES[verb], run: () => run(verb, task) }));
  const path = `/tasks/${encodeURIComponent(id)}`;
  const open = [{ text: "Open the task", run: () => go(path) }, row.diffstat && { text: "Open the review", run: () => go(`${path}/review`) }];
  return { title: task.title, commands: [...answers, ...work, ...open.filter(Boolean), ...others] };
}

async function run(verb, task) {
  const body = await ask(verb, task);
  if (body) await send(task.id, verb, body, () => {});
}

/** The commands whose text has all words of `query`. */
export function matching(commands, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return commands.filter(({ text }) => words.every((word) => text.toLowerCase().includes(word)));
}
