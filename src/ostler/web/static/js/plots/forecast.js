/** The forecast of the waiting tasks, and what past tasks needed. */

import { h } from "../dom.js";
import { clock, money, plural, span, tokens } from "../format.js";
import { forecastText } from "./forecast_text.js";

const HEADS = ["Tasks", "Time", "Tokens", "Cost"];

/** A card with the sentence, the windows and a table of the phases; null when no task waits. */
export function forecastCard(forecast) {
  const { tasks_waiting: waiting, windows, phases, done_at_p90: lateEnd } = forecast;
  if (!waiting) return null;
  return h("section", { class: "card stack", "aria-label": "Forecast" },
    h("h2", {}, "Forecast"),
    h("p", {}, forecastText(forecast)),
    lateEnd && h("p", { class: "muted" }, late(forecast)),
    windows.length > 0 && h("ul", { class: "stack" }, windows.map(line)),
    phases.length > 0 && table(phases));
}

function late({ done_at_p90: at, cost_p90: usd }) {
  const cost = usd ? ` and at most ${money(usd)}` : "";
  return `In nine of ten cases: done by ${clock(at)}${cost}.`;
}

function line({ account, title, resets_at: at, use_per_task: use, tasks }) {
  const name = `${account}, ${title} window`;
  if (tasks === null) return h("li", {}, `${name}: not known yet how much of it a task uses`);
  const room = tasks ? `room for about ${plural(tasks, "task")}` : "no room for a further task";
  return h("li", {}, `${name}: a task uses about ${percent(use)}; ${room} until ${clock(at)}`);
}

const percent = (share) => `${share < 0.1 ? (share * 100).toFixed(1) : Math.round(share * 100)} %`;

/** Medians, with the 90th percentile as a title. */
function table(phases) {
  return h("details", { class: "as-table" },
    h("summary", {}, "What past tasks needed"),
    h("div", { class: "scroll" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Weight and phase"), HEADS.map((name) => h("th", { class: "num", scope: "col" }, name)))),
      h("tbody", {}, phases.map(row)))));
}

function row(phase) {
  const cells = [
    [phase.tasks, ""],
    [span(phase.seconds), span(phase.seconds_p90)],
    [tokens(phase.tokens), tokens(phase.tokens_p90)],
    [money(phase.cost_usd), money(phase.cost_p90)],
  ];
  return h("tr", {},
    h("td", {}, `${phase.weight}, ${phase.phase}`),
    cells.map(([usual, most]) => h("td", { class: "num", title: most && `nine of ten: up to ${most}` }, String(usual))));
}
