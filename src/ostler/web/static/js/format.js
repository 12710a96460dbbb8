/** Numbers, times and states as people read them. */

const STATUS = {
  pending: "Pending", assigned: "Assigned", in_progress: "Running", paused: "Paused", needs_review: "Needs review",
  revision: "Revision", blocked: "Blocked", deferred: "Deferred", completed: "Completed", approved: "Approved",
  failed: "Failed", quarantined: "Quarantined", cancelled: "Cancelled", abandoned: "Abandoned",
};

// What a deferred task waits for: "limit" is always one of a provider, "budget" always one of money.
const DEFERRED = { BUDGET_EXCEEDED: "budget", RATE_LIMITED: "limit", QUOTA_EXCEEDED: "limit" };
const WAITS = { budget: "Waiting for the budget", limit: "Waiting for a limit", provider: "Waiting for the provider" };

/** A status as text; the code of a deferred task names what it waits for. */
export const statusName = (status, code = null) => (status === "deferred" && code ? WAITS[deferredBy(code)] : (STATUS[status] ?? status));

/** What a deferred task waits for: budget, limit or provider. */
export const deferredBy = (code) => DEFERRED[code] ?? "provider";

/** The text with a capital letter at its beginning. */
export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** 950, 12.3k, 4.1M */
export function tokens(count) {
  if (!count) return "0";
  if (count < 1000) return String(count);
  if (count < 1_000_000) return `${short(count / 1000)}k`;
  return `${short(count / 1_000_000)}M`;
}

/** The tokens of a usage as all pages count them: those of the cache are shown apart. */
export const usedTokens = (usage) => usage.input_tokens + usage.output_tokens;

/** $1.24; an unknown cost is a dash, never 0. */
export function money(usd) {
  if (usd === null || usd === undefined) return "–";
  if (usd > 0 && usd < 0.00005) return "<$0.0001";
  if (usd !== 0 && usd < 0.005) return `$${usd.toFixed(4)}`;
  return `$${usd.toFixed(2)}`;
}

/** Seconds as 8 s, 3:05 min, 2:14 h or 3 d. */
export function span(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}:${two(whole % 60)} min`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)}:${two(Math.floor((whole % 3600) / 60))} h`;
  return `${Math.floor(whole / 86_400)} d`;
}

/** How long ago a time of the API was: now, 12 s ago, 3 min ago. */
export function ago(time, now = Date.now()) {
  const passed = (now - Date.parse(time)) / 1000;
  if (passed < 1) return "now";
  if (passed < 60) return `${Math.floor(passed)} s ago`;
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86_400) return `${Math.floor(passed / 3600)} h ago`;
  return `${Math.floor(passed / 86_400)} d ago`;
}

/** A local time of day, with the date if it is not today. Takes RFC 3339 or epoch seconds. */
export function clock(time, withSeconds = false) {
  const at = new Date(typeof time === "number" ? time * 1000 : time);
  const hours = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", ...(withSeconds && { second: "2-digit" }) });
  if (at.toDateString() === new Date().toDateString()) return hours;
  return `${at.toLocaleDateString([], { day: "numeric", month: "short" })}, ${hours}`;
}

/** 1.4 kB, 3.2 MB */
export function bytes(count) {
  if (count < 1000) return `${count} B`;
  if (count < 1_000_000) return `${short(count / 1000)} kB`;
  return `${short(count / 1_000_000)} MB`;
}

/** 1 task, 3 tasks */
export const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

const short = (value) => (value < 10 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value)));
const two = (value) => String(value).padStart(2, "0");
