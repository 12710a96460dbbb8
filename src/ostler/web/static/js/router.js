/** Which page an address is; links are followed without a reload. */

import { onServer, PREFIX } from "./place.js";

const ROUTES = [
  { page: "board", path: /^\/$/ },
  { page: "inbox", path: /^\/inbox\/?$/ },
  { page: "task", path: /^\/tasks\/(?<id>[^/]+)\/?$/ },
  { page: "review", path: /^\/tasks\/(?<id>[^/]+)\/review\/?$/ },
  { page: "pipelines", path: /^\/pipelines(?:\/(?<run>[^/]+))?\/?$/ },
  { page: "models", path: /^\/models\/?$/ },
  { page: "cost", path: /^\/cost\/?$/ },
  { page: "machine", path: /^\/machine\/?$/ },
  { page: "schedules", path: /^\/schedules\/?$/ },
  { page: "settings", path: /^\/settings\/?$/ },
];

let arrive = () => {};
let here = "";

/** Calls `listener({page, params, query})` now and at every change of page. */
export function route(listener) {
  arrive = () => {
    here = location.pathname + location.search;
    listener(find(location));
  };
  addEventListener("popstate", () => here === location.pathname + location.search || arrive());
  document.addEventListener("click", click);
  arrive();
}

/** Opens a page of this dashboard; with `replace`, without a new history entry. */
export function go(page, { replace = false } = {}) {
  const path = onServer(page);
  if (path === location.pathname + location.search && !replace) return;
  history[replace ? "replaceState" : "pushState"](null, "", path);
  arrive();
}

/** Puts these values into the address without leaving the page; empty ones are left out. */
export function keepInAddress(values) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  here = location.pathname + (text ? `?${text}` : "");
  history.replaceState(history.state, "", here);
}

function find({ pathname, search }) {
  const here = pathname.startsWith(PREFIX) ? pathname.slice(PREFIX.length) : "";
  for (const { page, path } of ROUTES) {
    const match = path.exec(here);
    if (match) return { page, params: decoded(match.groups), query: new URLSearchParams(search) };
  }
  return { page: null, params: {}, query: new URLSearchParams(search) };
}

function decoded(groups = {}) {
  const given = Object.entries(groups).filter(([, text]) => text !== undefined);
  return Object.fromEntries(given.map(([name, text]) => [name, plain(text)]));
}

function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function click(event) {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const to = new URL(link.href);
  const ours = to.origin === location.origin && !link.target && !link.hasAttribute("download");
  if (!ours || to.hash || find(to).page === null) return;
  event.preventDefault();
  go(to.pathname + to.search);
}
