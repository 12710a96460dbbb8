"""The accounts that a project uses, and how much of their windows is left for its tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ostler.calls.models.start_policy import stop_threshold
from ostler.model.limits.lengths import counts_for_policy, find_length
from ostler.model.limits.titles import account_id
from ostler.model.limits.window import ANY
from ostler.store.accounts.sqlite import read_accounts
from ostler.store.past_attempts import History
from ostler.views.forecast.rates import Rate, learn_rates
from ostler.views.forecast.schedule import Account, WindowRoom

if TYPE_CHECKING:
    from ostler.config.settings import LimitsSettings
    from ostler.model.limits.limit import Limit
    from ostler.model.limits.window import WindowUse

_RECENT = 100  # attempts; accounts that none of them used are not expected to be used
_WEEK_SECONDS = 7 * 86_400.0  # of a window whose length is not known: the longest usual one


def find_accounts(
    history: History, settings: LimitsSettings, environ: Mapping[str, str], now: float
) -> tuple[Account, ...]:
    """Return the accounts of the last attempts, the most used first."""
    used = Counter(attempt.account for attempt in history.attempts[-_RECENT:] if attempt.account)
    if not used:
        return ()
    known, rates, limit = read_accounts(environ, now), learn_rates(history.attempts), stop_threshold(settings)
    return tuple(
        make_account(name, known.limits, known.windows, rates, limit, now) for name, _ in used.most_common()
    )


def make_account(
    name: str,
    limits: Sequence[Limit],
    uses: Sequence[WindowUse],
    rates: Mapping[tuple[str, str], Rate],
    limit: float,
    now: float,
) -> Account:
    """Return an account with its windows; `limit` is the share that tasks may use."""
    own = [use for use in uses if account_id(use.window) == name]
    closed = [one.until for one in limits if account_id(one.window) == name and one.window.model == ANY]
    rooms = (_make_room(use, rates.get((name, use.reported.name)), limit, now) for use in own)
    label = next((use.label for use in own if use.label), name)
    return Account(label, tuple(room for room in rooms if room is not None), max(closed, default=0.0))


def _make_room(use: WindowUse, rate: Rate | None, limit: float, now: float) -> WindowRoom | None:
    """Return the room in a window; None for one that is short, or of which too little is known."""
    window = use.reported
    used = 1.0 if window.status == "rejected" else window.used
    if used is None or window.resets_at is None or window.resets_at <= now or not counts_for_policy(window):
        return None
    seconds = find_length(window) or _WEEK_SECONDS
    return WindowRoom(window.name, used, limit, window.resets_at, seconds, rate)
