/** The sums of a cost document in a few large figures. */

import { h } from "../dom.js";
import { money, plural, tokens, usedTokens } from "../format.js";
import { meter } from "./meter.js";

// What happens to tasks when the budget of the day is used up.
const BEYOND = { pause: "wait until tomorrow", fail: "fail" };

/** Spent, tokens, attempts, and today against the budget. */
export function costTiles({ total, budget }, range) {
  return h("div", { class: "tiles" },
    tile("Spent", total.attempts ? money(total.cost_usd) : "$0.00", spentWords(total, range)),
    tile("Tokens", tokens(usedTokens(total.usage)), tokenWords(total.usage)),
    tile("Attempts", total.attempts.toLocaleString("en"), total.unknown_attempts ? `${total.unknown_attempts} of unknown cost` : "all with a known cost"),
    budget?.day_usd != null && budgetTile(budget));
}

function tile(name, figure, words, more = null) {
  return h("section", { class: "card tile" }, h("h2", { class: "tile-name" }, name), h("p", { class: "figure num" }, figure), more, h("p", { class: "muted" }, words));
}

function spentWords(total, range) {
  if (!total.attempts) return range;
  if (total.cost_usd === null) return "unknown: no agent reported a cost, and the models have no known price";
  const notes = [
    total.unknown_attempts && `without ${plural(total.unknown_attempts, "attempt")} of unknown cost`,
    total.subscription_usd && `${part(total.subscription_usd, total)}on a subscription: what it would have cost`,
    total.proxy_usd && `${part(total.proxy_usd, total)}through a proxy`,
    total.priced_usd && `${part(total.priced_usd, total)}priced by tokens`,
  ].filter(Boolean);
  return notes.join("; ") || "as reported by the agents";
}

function part(usd, { cost_usd: whole }) {
  return Math.abs(usd - whole) < 1e-9 ? "" : `${money(usd)} `;
}

function tokenWords(usage) {
  return `${tokens(usage.input_tokens)} in, ${tokens(usage.output_tokens)} out; ${tokens(usage.cache_read_tokens)} more from the cache`;
}

function budgetTile({ day_usd: day, today_usd: today, today_unknown_attempts: unknown, on_exceed: then }) {
  const share = day ? today / day : 1;
  const tone = share >= 1 ? "bad" : share >= 0.8 ? "warn" : "ok";
  const description = `${money(today)} of ${money(day)} today`;
  const words = `of ${money(day)} today; beyond it tasks ${BEYOND[then]}${unknown ? `; ${plural(unknown, "attempt")} of unknown cost not counted` : ""}`;
  return tile("Day budget", money(today), words, meter({ value: today, top: day, tone, description }));
}
