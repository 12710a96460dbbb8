/** The dashboard: the bar, and below it the page that the address names. */

import { ApiError, get } from "./api.js";
import { h, replace } from "./dom.js";
import { keepBanner } from "./banner.js";
import { begin, watchConnection } from "./feed.js";
import { drawBar, markPage } from "./nav.js";
import { keepNotifying } from "./notifications.js";
import { goKeys } from "./shortcuts.js";
import { route } from "./router.js";
import { keepChecking } from "./server_state.js";
import { session } from "./session.js";
import { titled } from "./title.js";

const main = document.getElementById("main");
const announcements = document.getElementById("announcements");
const NAMES = {
  board: "Board", inbox: "Inbox", task: "Task", review: "Review", pipelines: "Pipelines", models: "Models", cost: "Cost", machine: "Machine",
  schedules: "Schedules", settings: "Settings",
};
const NO_KEY = "Open the one-time URL that ostler serve printed.";
let leaving = new AbortController();

await start();

async function start() {
  try {
    const here = await session();
    begin(here.position);
    drawBar(here);
    keepChecking(here);
    keepBanner();
    goKeys();
    keepNotifying();
    watchConnection((state) => state === "lost" && askWhy());
    route(open);
  } catch (error) {
    explain(error);
  }
}

async function open({ page, params, query }) {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  markPage(page);
  const root = h("div", { data: { page: page ?? "none" } });
  replace(main, root);
  scrollTo(0, 0);
  if (page === null) return explain(new ApiError(404, { message: "Page not found." }));
  arrived(page);
  try {
    const { show } = await import(`./pages/${page}.js`);
    if (!signal.aborted) await show(root, { ...params, query }, signal);
  } catch (error) {
    if (error.name !== "AbortError" && !signal.aborted) explain(error);
  }
}

function arrived(page) {
  titled(page === "board" ? "" : NAMES[page]);
  announcements.textContent = NAMES[page];
  if (document.activeElement !== document.body) main.focus({ preventScroll: true });
}

/** A restarted server does not accept this browser's cookie. */
async function askWhy() {
  await get("/session").catch((error) => error.status === 401 && explain(error));
}

/** Shows the error of a page that failed. */
function explain(error) {
  const { title, text } = inWords(error);
  replace(
    main,
    h("div", { class: "page" },
      h("div", { class: "card stack problem", role: "alert" },
        h("h1", {}, title),
        h("p", {}, text),
        error.hint && h("p", { class: "muted mono" }, error.hint),
        h("div", { class: "row" },
          h("button", { class: "btn", type: "button", on: { click: () => location.reload() } }, "Try again"),
          h("a", { class: "btn quiet", href: "/" }, "Go to the board")))),
  );
}

function inWords(error) {
  if (error.status === 401) return { title: "Not authenticated", text: NO_KEY };
  if (error.status === 404) return { title: "Not found", text: error.message };
  if (error instanceof ApiError) return { title: "The server returned an error", text: error.message };
  console.error(error);
  return { title: "This page failed", text: error.message };
}
