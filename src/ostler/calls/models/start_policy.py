"""Whether a new task may start on a model: the use of its windows against the [limits] of the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ostler.clock import format_local_time
from ostler.config.settings import LimitsSettings
from ostler.model.limits.limit import Limit, windows_for
from ostler.model.limits.titles import account_label, format_share, window_title
from ostler.model.limits.window import WindowUse
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.model.task import FIRST_LATE_PRIORITY, Priority


class StartHold(Struct, frozen=True):
    """Why no new task starts on a model, and until when."""

    message: str
    until: float


def stop_threshold(settings: LimitsSettings) -> float:
    """Return the used share of a window from which no new task starts on its account."""
    return min(settings.stop_at, 1.0 - settings.keep_for_me)


def find_start_holds(
    pool: ModelPool, uses: Sequence[WindowUse], settings: LimitsSettings, priority: Priority, now: float
) -> dict[str, StartHold]:
    """Return the models on which no new task of this priority starts, by name."""
    known = {model.name: _uses_of(model, uses, now) for model in pool.models}
    holds = {name: _find_full(found, settings, now) for name, found in known.items()}
    if settings.use_before_reset and priority >= FIRST_LATE_PRIORITY:
        holds = {name: hold or _find_early(name, known, settings, now) for name, hold in holds.items()}
    return {name: hold for name, hold in holds.items() if hold is not None}


def leave_out_closed(uses: Sequence[WindowUse], limits: Sequence[Limit]) -> list[WindowUse]:
    """Return the uses of windows that are not closed: a closed one is probed after its end by any task."""
    closed = {limit.window for limit in limits}
    return [use for use in uses if use.window not in closed]


def find_first_hold(pool: ModelPool, holds: Mapping[str, StartHold]) -> StartHold | None:
    """Return the hold that ends first if no model of the pool is left for a new task."""
    names = [model.name for model in pool.models if model.enabled]
    if not all(name in holds for name in names):
        return None
    return min((holds[name] for name in names), key=lambda hold: hold.until, default=None)


def has_start_holds(uses: Sequence[WindowUse], settings: LimitsSettings) -> bool:
    """Return whether any model of any task may be held: cheap, for the common case that none is."""
    is_full = any(use.reported.counts_for_policy and _is_full(use, settings) for use in uses)
    return is_full or (settings.use_before_reset and bool(uses))


def _uses_of(model: ModelConfig, uses: Sequence[WindowUse], now: float) -> list[WindowUse]:
    windows = windows_for(model)
    return [
        use
        for use in uses
        if use.reported.counts_for_policy and any(map(use.window.applies_to, windows)) and use.ends_at > now
    ]


def _is_full(use: WindowUse, settings: LimitsSettings) -> bool:
    """Return whether a window lets no new task start.

    A rejection without a reset time counts only until a probe; it is not reported when the window resets.
    """
    reported = use.reported
    if reported.used is None or (reported.status == "rejected" and reported.resets_at is None):
        return False
    # 1 - 0.05 is slightly more than 0.95.
    return reported.used >= stop_threshold(settings) - 1e-9


def _find_full(uses: list[WindowUse], settings: LimitsSettings, now: float) -> StartHold | None:
    full = [use for use in uses if _is_full(use, settings)]
    last = max(full, key=lambda use: use.ends_at, default=None)
    if last is None:
        return None
    is_kept = 1.0 - settings.keep_for_me < settings.stop_at
    setting = f"keep_for_me = {settings.keep_for_me:g}" if is_kept else f"stop_at = {settings.stop_at:g}"
    return StartHold(f"{describe_use(last, now)}; limits.{setting}", last.ends_at)


def _find_early(
    name: str, known: dict[str, list[WindowUse]], settings: LimitsSettings, now: float
) -> StartHold | None:
    """Return why a task of the last priority waits until shortly before a reset.

    A model without a known window waits too: it would be used instead of what is left in the windows.
    """
    timed = [use for uses in known.values() for use in uses if use.reported.resets_at is not None]
    own = [use for use in timed if use in known[name]]
    first = min(own or timed, key=lambda use: use.ends_at, default=None)
    if first is None:
        return None
    starts_at = first.ends_at - settings.use_before_reset_seconds
    if starts_at <= now and own:
        return None
    message = (
        f"P3 and P4 tasks start before a reset: {describe_use(first, now)}; limits.use_before_reset = true"
    )
    return StartHold(message, starts_at if own else first.ends_at)


def describe_use(use: WindowUse, now: float) -> str:
    """Return the use of a window in words: claude: five-hour window 96 % used, resets 00:47."""
    reported, label = use.reported, use.label or account_label(use.window)
    used = "" if reported.used is None else f" {format_share(reported.used)} used"
    resets = "" if reported.resets_at is None else f", resets {format_local_time(use.ends_at, now)}"
    return f"{label}: {window_title(reported.name)} window{used}{resets}"
