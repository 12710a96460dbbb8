/** Named views of the board and the inbox: search, filters, order and form, stored in this browser for each project. */

import { PREFIX } from "../place.js";
import { session } from "../session.js";

const KEY = "ostler.views";

/** The views of the project: [{name, query}], by name; a query with a path is of another page than the board. */
export async function savedViews() {
  const { root } = await session();
  const all = read()[root] ?? {};
  return Object.entries(all).map(([name, query]) => ({ name, query })).sort((one, other) => one.name.localeCompare(other.name));
}

/** Stores the query of the address under a name; one of the same name is replaced. */
export async function saveView(name, query) {
  await change((views) => ({ ...views, [name]: query }));
}

/** Removes a view. */
export async function removeView(name) {
  await change(({ [name]: _, ...others }) => others);
}

/** The address of a view. */
export const viewPath = ({ query }) => (query.startsWith("/") ? query : query ? `/?${query}` : "/");

/** The query of the page that is shown, as a view has it. */
export function queryHere() {
  const page = location.pathname.slice(PREFIX.length);
  return page === "/" ? location.search.slice(1) : page + location.search;
}

async function change(edit) {
  const { root } = await session();
  const all = read();
  localStorage.setItem(KEY, JSON.stringify({ ...all, [root]: edit(all[root] ?? {}) }));
}

/** What another version or a person left there must not break the board. */
function read() {
  try {
    const all = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return all && typeof all === "object" ? all : {};
  } catch {
    return {};
  }
}
