/**
 * Where a project is on the server: below /p/NAME in a server of several projects, or at the root. In the inbox of all projects, the
 * id of a task is NAME/ID.
 */

const ROOTS = ["/static/", "/p/"];

/** The prefix of the paths of this project; "" at the root. */
export const PREFIX = /^\/p\/[^/]+(?=\/)/.exec(location.pathname)?.[0] ?? "";

/** The path on the server of a page of this project; other addresses are returned unchanged. */
export function onServer(path) {
  return path.startsWith("/") && !ROOTS.some((root) => path.startsWith(root)) ? PREFIX + path : path;
}

/** The address of a page of the server itself. */
export const ofServer = (path) => location.origin + path;

/** The path of the page of a task. */
export function taskPage(id) {
  const { prefix, task } = splitId(id);
  return `${prefix}/tasks/${encodeURIComponent(task)}`;
}

/** The prefix of the project of a task, "" for this one, and the id of the task there. */
export function splitId(id) {
  const at = id.indexOf("/");
  return at < 0 ? { prefix: "", task: id } : { prefix: `/p/${encodeURIComponent(id.slice(0, at))}`, task: id.slice(at + 1) };
}

/** The name of something that the browser keeps for this project. */
export const keptFor = (name) => (PREFIX ? `${name}${PREFIX}` : name);
