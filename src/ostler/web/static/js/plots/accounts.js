/** Accounts with a bar for each window: its use, its reset, and where the value comes from. */

import { h } from "../dom.js";
import { clock } from "../format.js";
import { ticking } from "../tick.js";
import { meter } from "./meter.js";
import { countdown, moment } from "./times.js";

const TONES = { ok: "ok", near: "warn", stopped: "warn", rejected: "bad" };
const NOTHING = "No limits are known yet. Values appear after the first answer of an agent that reports its windows.";

/** One block for each account of `limits` (ostler.limits/1). */
export function accounts({ accounts: known, stop_at: stop }) {
  if (!known.length) return h("p", { class: "muted" }, NOTHING);
  const blocks = known.map((account) => block(account, stop));
  const note = stop !== null && known.some(({ windows }) => windows.length);
  return h("div", { class: "accounts" }, blocks,
    note && h("p", { class: "muted small" }, `The mark at ${percentText(stop)}: from here no further task starts (limits.stop_at, keep_for_me).`));
}

/** A share in percent, rounded down. */
export function percentText(share) {
  return share === null || share === undefined ? "" : `${Math.floor(share * 100 + 1e-6)} %`;
}

function block({ label, models, windows, closed }, stop) {
  return h("section", { class: "account", "aria-label": label },
    h("h3", { class: "cut" }, label, models.length > 0 && h("span", { class: "muted" }, ` used by ${models.join(", ")}`)),
    windows.map((window) => line(window, stop)),
    closed.map(closing),
    !windows.length && !closed.length && h("p", { class: "muted" }, "Nothing reported yet."));
}

function line(window, stop) {
  const { title, used, level } = window;
  const description = `${title}: ${percentText(used) || "use not reported"}`;
  return h("div", { class: "limit", data: { level } },
    h("span", { class: "limit-name" }, title),
    used === null ? h("span") : meter({ value: used, top: 1, mark: stop, tone: TONES[level], description }),
    h("strong", { class: "limit-used num" }, percentText(used) || "–"),
    h("span", { class: "limit-reset num" }, resetText(window)),
    h("span", { class: "limit-source muted" }, `${window.source_title}, `, ticking("ago", window.reported_at)));
}

function resetText({ status, level, used, resets_at: at }) {
  const state = level === "stopped" ? "stopped" : status === "allowed" && used !== null ? "" : status;
  const before = state && h("span", { class: "limit-state" }, `${state}, `);
  return [before, ...(at ? ["resets ", clock(at), ", ", countdown(at)] : ["reset not reported"])];
}

function closing({ title, model, until, is_due: due, is_probed: probed, code, message }) {
  const name = model && !title.includes(model) ? `${title}, ${model}` : title;
  const when = probed ? ["a call probes it now"] : due ? ["the next call probes it"] : ["probe at ", clock(until), ", ", countdown(until)];
  return h("p", { class: "limit-closed", data: { due: due && moment(until) <= Date.now() } },
    h("strong", {}, `Closed: ${name}`), "; ", when, "; ", [code, message].filter(Boolean).join(": "));
}
