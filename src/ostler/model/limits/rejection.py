"""Which windows a rejected call closes, and until when."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from math import isfinite

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import Code
from ostler.model.call import CallResult
from ostler.model.limits.families import is_in_family, is_in_other_family
from ostler.model.limits.limit import window_for
from ostler.model.limits.names import OVERAGE, QUOTA
from ostler.model.limits.window import ANY, HOUR_SECONDS, LONGEST_SECONDS, ReportedWindow, Window
from ostler.model.policy.model_config import ModelConfig

JITTER_SECONDS = 60.0  # after a reset, so that not all machines of an account call at once
LONGEST_PROBE_SECONDS = 5 * HOUR_SECONDS  # between two probes of a window whose reset is not known


class Closing(Struct, frozen=True):
    """A window to close: until its reset, or with probes after a growing delay."""

    window: Window
    until: float | None  # None: the reset is not known
    first_probe_seconds: float = HOUR_SECONDS
    longest_probe_seconds: float = LONGEST_PROBE_SECONDS


def find_rejecting(result: CallResult) -> tuple[ReportedWindow, ...]:
    """Return the windows that rejected a call; empty if it was not rejected or none is named."""
    return list_rejecting(result.windows) if result.code is Code.QUOTA_EXCEEDED else ()


def may_count(window: ReportedWindow, model: str) -> bool:
    """Return whether a window counts requests of a model; one without a name may be of any family."""
    return not is_in_other_family(model, window.family)


def rejects(window: ReportedWindow, model: str) -> bool:
    """Return whether a window rejects requests of a model."""
    return window.status == "rejected" and may_count(window, model)


def list_rejecting(windows: Iterable[ReportedWindow], model: str = "") -> tuple[ReportedWindow, ...]:
    """Return the rejected windows: those that count this model, else all; extra usage only if it is alone."""
    rejected = tuple(one for one in windows if one.status == "rejected")
    counting = tuple(one for one in rejected if rejects(one, model)) or rejected
    return tuple(one for one in counting if one.name != OVERAGE) or counting


def is_only_family_rejected(result: CallResult) -> bool:
    """Return whether other models of the same account can still be used."""
    rejecting = find_rejecting(result)
    return bool(rejecting) and all(one.family for one in rejecting)


def find_closings(
    model: ModelConfig, result: CallResult, now: float, *, has_jitter: bool, soon_seconds: float
) -> list[Closing]:
    """Return the windows that a QUOTA_EXCEEDED closes; a reset in the past is probed `soon_seconds` later."""
    after = result.retry_after_seconds
    fallback = None if after is None else now + after
    closings: list[Closing] = []
    rejecting = find_rejecting(result) or (ReportedWindow(QUOTA),)
    deciding = list_rejecting(rejecting, result.model or model.model)
    for reported in rejecting:
        resets_at = reported.resets_at if reported.resets_at is not None else fallback
        is_alone = reported in deciding and all(one.family for one in deciding)
        for window in _windows_of(model, reported, is_alone):
            closings.append(_close(window, reported, resets_at, now, has_jitter, soon_seconds))
    return closings


def reported_window(model: ModelConfig, reported: ReportedWindow) -> Window:
    """Return the window of the model's account that an agent reported."""
    return replace(window_for(model, reported.name), model=reported.family or ANY)


def find_jitter(window: Window) -> float:
    """Return the seconds after a reset, always the same for one account."""
    key = f"{window.provider}/{window.account}".encode()
    return JITTER_SECONDS * int.from_bytes(blake2b(key, digest_size=8).digest()) / 2**64


def _windows_of(model: ModelConfig, reported: ReportedWindow, is_alone: bool) -> Iterable[Window]:
    """Yield the window, and that of the model itself if no window of all models has rejected it."""
    yield reported_window(model, reported)
    # The default model of an agent, or an alias: its name does not show that it belongs to the family.
    if is_alone and reported.family and not is_in_family(model.model, reported.family):
        yield window_for(model, reported.name)


def _close(
    window: Window,
    reported: ReportedWindow,
    resets_at: float | None,
    now: float,
    has_jitter: bool,
    soon_seconds: float,
) -> Closing:
    # The reset of extra usage is that of a month, but the windows of the plan are reset earlier.
    known = LONGEST_PROBE_SECONDS if reported.name == OVERAGE else reported.length
    length = min(known or LONGEST_SECONDS, LONGEST_SECONDS)
    longest = min(length, LONGEST_PROBE_SECONDS)
    if resets_at is None or not isfinite(resets_at):
        return Closing(window, None, min(HOUR_SECONDS, longest), longest)
    if resets_at <= now:
        return Closing(window, None, min(soon_seconds, longest), longest)
    return Closing(window, min(resets_at, now + length) + (find_jitter(window) if has_jitter else 0.0))
