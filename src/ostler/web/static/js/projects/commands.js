/** The commands of the palette that lead to the other projects of the server. */

import { PREFIX } from "../place.js";
import { loadProjects } from "./list.js";

/** {text, keys, run} for each; without the server, only those that need no list. */
export async function projectCommands() {
  const projects = await loadProjects().then((given) => given.projects, () => []);
  const others = projects.filter(({ path }) => path !== PREFIX);
  return [
    ...others.map(({ title, path }) => ({ text: `Project: ${title}`, run: () => location.assign(`${path}/`) })),
    { text: "Go to the inbox of all projects", keys: "g I", run: () => location.assign("/inbox") },
    { text: "Go to all projects", keys: "g a", run: () => location.assign("/") },
  ];
}
