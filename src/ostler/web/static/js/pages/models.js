/** The use of accounts, when limits end, and the models with their availability. */

import { get } from "../api.js";
import { h, replace } from "../dom.js";
import { clock, plural } from "../format.js";
import { accounts } from "../plots/accounts.js";
import { forecastCard } from "../plots/forecast.js";
import { keepFresh } from "../plots/fresh.js";
import { stoppedAccounts } from "../plots/stopped.js";
import { countdown, keepCounting, moment } from "../plots/times.js";
import { windows } from "../plots/windows.js";
import { keepTicking } from "../tick.js";

const STATES = {
  ready: "Ready", limited: "Limited", down: "Not called", cooldown: "In cooldown", disabled: "Disabled",
  not_installed: "Not installed", unusable: "Unusable",
};

/** Shows the page. */
export async function show(root, _params, signal) {
  const words = h("p", { class: "muted" });
  const body = h("div", { class: "stack wide-gap" });
  replace(root, h("div", { class: "page stack wide-gap" }, h("div", { class: "row wrap page-head" }, h("h1", {}, "Models"), words), body));
  keepCounting(body, signal);
  keepTicking(body, signal);
  await keepFresh({
    load: () => load(signal), draw: (given) => draw(words, body, given), root: body, signal, seconds: 15,
    concerns: ({ type }) => type.startsWith("wait_") || type.startsWith("model_") || type === "attempt_ended" || type === "task_deferred",
  });
}

async function load(signal) {
  const pages = ["/models", "/limits", "/forecast"];
  const [models, accounts, forecast] = await Promise.all(pages.map((page) => get(page, {}, signal)));
  return { ...models, known: accounts, forecast };
}

function draw(words, body, { models, limits, known, forecast }) {
  replace(words, summary(models));
  replace(body, use(known), forecastCard(forecast), quota(models, limits ?? [], known), table(models));
}

function use(known) {
  return h("section", { class: "card stack", "aria-label": "Use of accounts" }, h("h2", {}, "Accounts"), accounts(known));
}

function summary(models) {
  const ready = models.filter(({ state }) => state === "ready").length;
  const away = models.length - ready;
  if (!models.length) return "No models are configured; each agent uses its default.";
  return away ? `${ready} of ${plural(models.length, "model")} ready` : `${plural(models.length, "model")}, all ready`;
}

/** Limits by account and model; a model in cooldown has its own line. */
function quota(models, limits, known) {
  const waits = [...limits.map(limitToWait), ...models.filter(isInCooldown).map(toWait)].filter(({ until }) => moment(until) > Date.now());
  return h("section", { class: "card stack", "aria-label": "Limits of the next 24 hours" },
    h("h2", {}, "Limits, next 24 hours"),
    waits.length ? windows(waits) : h("p", { class: "muted" }, withoutWaits(known)));
}

/** An account at limits.stop_at still answers: tasks that have begun continue. */
function withoutWaits(known) {
  const stopped = stoppedAccounts(known).map(({ name, until }) => name + (until ? ` until ${clock(until)}` : ""));
  if (!stopped.length) return "No limits: every ready model can be used now.";
  return `No calls are rejected. No new task starts on ${stopped.join(", ")}; tasks that have begun continue.`;
}

function limitToWait({ provider, account, model, window, title, until, code, message }) {
  const name = [provider, account, model].filter(named).join(" · ");
  return { name: name || "all models", detail: [named(window) && title, message || code].filter(Boolean).join(", "), until, status: "limited" };
}

/** A star means all. */
function named(text) {
  return text && text !== "*";
}

function isInCooldown({ state, until }) {
  return state === "cooldown" && until !== null;
}

function toWait({ name, failures, code, until }) {
  return { name, detail: `in cooldown after ${plural(failures, "failure")}${code ? `, ${code}` : ""}`, until, status: "cooldown" };
}

function table(models) {
  return h("section", { class: "card", "aria-label": "Models" }, h("ul", { class: "models" }, models.map(entry)));
}

function entry(model) {
  const { name, executor, state, until, pool, cost_weight: weight } = model;
  return h("li", { class: "model" },
    h("div", { class: "model-name" }, h("strong", { class: "cut" }, name), model.model !== name && h("span", { class: "muted cut mono" }, model.model ?? "its default")),
    h("span", { class: "chip", data: { status: state } }, STATES[state] ?? state),
    h("div", { class: "model-why" }, until && whenText(until), h("p", { class: "muted" }, why(model))),
    h("div", { class: "model-about muted" }, 
      h("span", {}, executor),
      h("span", {}, pool),
      h("span", { title: "cost weight" }, `weight ${weight}`)));
}

function whenText(until) {
  return h("p", { class: "num" }, "until ", clock(until), " ", countdown(until));
}

function why({ state, code, failures, message }) {
  if (state === "ready") return failures ? `${plural(failures, "failure")} lately` : "";
  if (state === "disabled") return "disabled in the settings";
  const what = failures > 1 ? `${failures} × ${code ?? "failure"}` : (code ?? "");
  return [what, message].filter(Boolean).join(": ");
}
