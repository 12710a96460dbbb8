/** The pull requests of shown cards, asked for one after the other. */

import { get, taskPath } from "../api.js";

const KEPT_MS = 60_000;
const known = new Map();
let last = Promise.resolve();

/** The pull request of a task (ostler.pull-request/1), at most a minute old; null if the server does not have it. */
export function pullRequestOf({ id, pr_url: url }) {
  const before = known.get(url);
  if (before && Date.now() - before.at < KEPT_MS) return before.answer;
  const answer = last.then(() => get(taskPath(id, "pull-request"))).catch(() => null);
  last = answer;
  known.set(url, { at: Date.now(), answer });
  return answer;
}
