/** The schedules: when each task or pipeline starts next, and what became of its last run. */

import { get, post } from "../api.js";
import { h, replace } from "../dom.js";
import { plural, statusName } from "../format.js";
import { keepFresh } from "../plots/fresh.js";
import { watchServer } from "../server_state.js";
import { keepTicking, setTicking, ticking } from "../tick.js";
import { notify, refused } from "../toast.js";

const SECONDS = 30;

/** Shows the page. */
export async function show(root, _params, signal) {
  const idle = h("p", { class: "card schedule-idle", hidden: true }, "No process runs tasks: schedules start while ", h("code", {}, "ostler worker"), " or ", h("code", {}, "ostler serve"), " runs.");
  const body = h("div", { class: "stack" });
  replace(root, h("div", { class: "page stack wide-gap schedules-page" }, h("h1", {}, "Schedules"), idle, body));
  watchServer(({ activity }) => (idle.hidden = activity?.is_active !== false), signal);
  keepTicking(root, signal);
  const refresh = await keepFresh({
    load: () => get("/schedules", {}, signal), draw: (given) => draw(body, given, start), root: body, signal, seconds: SECONDS,
    concerns: ({ type }) => type.startsWith("task_"),
  });

  async function start({ kind, name }, button) {
    button.disabled = true;
    try {
      const { tasks } = await post("/schedules/start", { kind, name });
      notify(`${name}: ${plural(tasks.length, "task")} added`);
      await refresh();
    } catch (error) {
      refused(error);
    } finally {
      button.disabled = false;
    }
  }
}

function draw(body, { schedules, skipped }, start) {
  replace(body,
    skipped.map((mistake) => h("p", { class: "card schedule-idle" }, `Skipped until it is fixed: ${mistake}`)),
    schedules.length ? h("ul", { class: "schedules" }, schedules.map((one) => line(one, start))) : nothing());
}

function line(one, start) {
  const { name, kind, schedule, next, where, last } = one;
  const button = h("button", { class: "btn", type: "button", data: { key: `${kind}/${name}` } }, "Run now", h("span", { class: "hidden-text" }, ` ${name}`));
  button.addEventListener("click", () => start(one, button));
  return h("li", { class: "card schedule" },
    h("div", { class: "schedule-name" }, h("h2", { class: "cut" }, name), h("p", { class: "small muted" }, `${kind}, `, h("span", { class: "mono" }, where))),
    h("code", { class: "mono" }, schedule),
    h("div", {}, h("p", { class: "small muted" }, "Next"), setTicking(ticking("left", next), next)),
    h("div", {}, h("p", { class: "small muted" }, "Last"), last ? lastRun(last) : h("span", { class: "muted" }, "never")),
    button);
}

function lastRun({ at, status, task, pipeline }) {
  const href = task ? `/tasks/${encodeURIComponent(task)}` : `/pipelines/${encodeURIComponent(pipeline)}`;
  return h("a", { class: "row schedule-last", href }, h("span", { class: "chip", data: { status } }, statusName(status)), setTicking(ticking("ago", at), at));
}

function nothing() {
  return h("div", { class: "card empty stack" }, h("p", {}, "No schedules."),
    h("p", {}, "Add ", h("code", {}, 'schedule: "0 6 * * 1"'), " (minute, hour, day, month, weekday) to ", h("code", {}, ".agents/pipelines/NAME.yaml"), ", or to the front matter of ", h("code", {}, ".agents/tasks/NAME.md"), "."));
}
