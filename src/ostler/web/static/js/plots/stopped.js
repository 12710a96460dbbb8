/** Accounts on which no new task starts: a window of all their models is at limits.stop_at, or closed. */

/** Each one with its name, and the time of its reset or null. */
export function stoppedAccounts({ accounts }) {
  return accounts.filter(({ models }) => models.length).map(({ name, windows, closed }) => {
    const ends = [...windows.filter(isFull).map(({ resets_at: at }) => at), ...closed.filter(isClosed).map(({ until }) => until)];
    return ends.length && { name, until: ends.every(Boolean) ? ends.sort().at(-1) : null };
  }).filter(Boolean);
}

/** Why no new task of the project starts; empty while one of its accounts may be used. */
export function startHold(limits) {
  const stopped = stoppedAccounts(limits);
  const used = limits.accounts.filter(({ models }) => models.length);
  if (!used.length || stopped.length < used.length) return "";
  return `Waits for the reset of ${stopped.map(({ name }) => name).join(" or ")}`;
}

function isFull({ level, family }) {
  return level === "stopped" && !family;
}

function isClosed({ model, is_limit: limit, is_due: due }) {
  return limit && model === null && !due;
}
