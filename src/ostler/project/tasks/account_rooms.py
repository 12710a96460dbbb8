"""The accounts that waiting tasks may use, and how much of their windows is left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from ostler.calls.models.rotation import find_other_account
from ostler.calls.models.start_policy import stop_threshold
from ostler.config.settings import Settings
from ostler.model.limits.limit import Limit, window_for, windows_for
from ostler.model.limits.titles import account_id, label_of
from ostler.model.limits.window import WindowUse
from ostler.model.policy.model_config import LOGIN_MARK, Login, ModelConfig, ModelPool
from ostler.store.accounts.sqlite import read_accounts
from ostler.store.queries.past_attempts import History, PastAttempt
from ostler.views.forecast.rates import Rate, learn_rates
from ostler.views.forecast.schedule import Account, WindowRoom

_WEEK_SECONDS = 7 * 86_400.0  # of a window whose length is not known: the longest usual one


def find_accounts(
    pools: Iterable[ModelPool], history: History, settings: Settings, environ: Mapping[str, str], now: float
) -> tuple[Account, ...]:
    """Return the account of each model that the waiting tasks may use, in the order of the settings.

    Empty if the tasks use different models, or if the account of a model is not known.
    """
    known = read_accounts(environ, now)
    if not known.limits and not known.windows:
        return ()
    models = _find_models(pools, history, settings)
    rates, limit = learn_rates(history.attempts), stop_threshold(settings.limits)
    return tuple(make_account(one, known.limits, known.windows, rates, limit, now) for one in models)


def _find_models(pools: Iterable[ModelPool], history: History, settings: Settings) -> list[ModelConfig]:
    different = {tuple(one.name for one in pool.models): pool for pool in pools}
    if len(different) != 1:
        return []
    (pool,) = different.values()
    last = {(one.executor, one.model_name): one for one in history.attempts if one.account}
    enabled = [one for one in pool.models if one.enabled]
    models = [found for one in enabled if (found := _add_login(one, last)) is not None]
    if len(models) < len(enabled):
        return []
    # Fallback models are used after all others.
    models.sort(key=lambda one: one.fallback)
    return models if settings.limits.rotate_accounts else _leave_out_other_accounts(models, settings)


def _add_login(model: ModelConfig, last: Mapping[tuple[str, str], PastAttempt]) -> ModelConfig | None:
    """Return the model with the login of its last attempt, because executors take long to load."""
    if model.account:
        return model
    attempt = last.get((model.executor, model.name))
    if attempt is None:
        return None
    # The inverse of account_id().
    return replace(model, login=Login(attempt.account.removesuffix(LOGIN_MARK), ""))


def _leave_out_other_accounts(models: Sequence[ModelConfig], settings: Settings) -> list[ModelConfig]:
    kept: list[ModelConfig] = []
    for model in models:
        if find_other_account(model, kept, settings.executors) is None:
            kept.append(model)
    return kept


def make_account(
    model: ModelConfig,
    limits: Sequence[Limit],
    uses: Sequence[WindowUse],
    rates: Mapping[tuple[str, str], Rate],
    limit: float,
    now: float,
) -> Account:
    """Return the account of a model with the windows that count its calls; `limit` is what tasks may use."""
    windows, name = windows_for(model), account_id(window_for(model))
    own = [use for use in uses if any(map(use.window.applies_to, windows))]
    closed = [one.until for one in limits if any(map(one.window.applies_to, windows))]
    rooms = (_make_room(use, rates.get((name, use.reported.name)), limit, now) for use in own)
    label = next((use.label for use in own if use.label), label_of(model))
    return Account(label, tuple(room for room in rooms if room is not None), max(closed, default=0.0))


def _make_room(use: WindowUse, rate: Rate | None, limit: float, now: float) -> WindowRoom | None:
    """Return the room in a window; None for one that is short, or of which too little is known."""
    window = use.reported
    used = 1.0 if window.status == "rejected" else window.used
    if used is None or window.resets_at is None or window.resets_at <= now or not window.counts_for_policy:
        return None
    seconds = window.length or _WEEK_SECONDS
    return WindowRoom(window.name, used, limit, window.resets_at, seconds, rate)
