/** The dashboard: the bar, and below it the page that the address names. */

import { ApiError, get } from "./api.js";
import { h, replace } from "./dom.js";
import { begin, watchConnection } from "./feed.js";
import { drawBar, markPage } from "./nav.js";
import { goKeys } from "./shortcuts.js";
import { route } from "./router.js";
import { session } from "./session.js";
import { titled } from "./title.js";

const main = document.getElementById("main");
const heard = document.getElementById("heard");
const NAMES = { board: "Board", task: "Task", pipelines: "Pipelines", models: "Models", cost: "Cost", machine: "Machine" };
const NO_KEY = "Open the one-time address that ostler serve printed; it works once.";
let leaving = new AbortController();

await start();

async function start() {
  try {
    const here = await session();
    begin(here.position);
    drawBar(here);
    goKeys();
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
  if (page === null) return explain(new ApiError(404, { message: "There is no such page." }));
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
  heard.textContent = NAMES[page];
  if (document.activeElement !== document.body) main.focus({ preventScroll: true });
}

/** A server that was started again does not know this browser; the bar says the rest. */
async function askWhy() {
  await get("/session").catch((error) => error.status === 401 && explain(error));
}

/** A page that fails says so in words. */
function explain(error) {
  const { title, text } = inWords(error);
  replace(
    main,
    h("div", { class: "page" },
      h("div", { class: "card stack trouble", role: "alert" },
        h("h1", {}, title),
        h("p", {}, text),
        error.hint && h("p", { class: "muted mono" }, error.hint),
        h("div", { class: "row" },
          h("button", { class: "btn", type: "button", on: { click: () => location.reload() } }, "Try again"),
          h("a", { class: "btn quiet", href: "/" }, "To the board")))),
  );
}

function inWords(error) {
  if (error.status === 401) return { title: "This browser has no key", text: NO_KEY };
  if (error.status === 404) return { title: "Not found", text: error.message };
  if (error instanceof ApiError) return { title: "The server did not give this page", text: error.message };
  console.error(error);
  return { title: "This page does not work", text: error.message };
}
