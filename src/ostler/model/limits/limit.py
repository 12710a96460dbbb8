"""Limits of providers and cooldowns of models: may the next call start?"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import Code, is_provider_limit
from ostler.model.limits.families import find_families
from ostler.model.limits.names import find_length
from ostler.model.limits.window import ANY, CLOCK_STEP_SECONDS, LONGEST_SECONDS, Window
from ostler.model.policy.model_config import LOGIN_MARK, ModelConfig

_ROUTE = "#"  # separates the executor from what its model adds to it
LEASE_SECONDS = 60.0  # for one caller to probe; then it counts as dead
RECHECK_SECONDS = 5.0  # for the other callers, during a probe


def window_for(model: ModelConfig, window: str = ANY) -> Window:
    """Return the window of a model's calls: its account, or its login if no account is set."""
    provider = "" if model.account else model.login.key or model.executor
    return Window(provider, model.account, model.model, window)


def route_for(model: ModelConfig, window: str = ANY) -> Window:
    """Return the window of the login and the address that a model uses.

    A model with arguments or variables of its own may use another key or address than its executor.
    """
    of_account = replace(window_for(model, window), model=ANY)
    own = "" if model.account or not (model.args or model.env) else _digest(model)
    return replace(of_account, provider=f"{of_account.provider}{_ROUTE}{own}")


def provider_name(window: Window) -> str:
    """Return the type of the executor of a window, without the marks of a login and a route."""
    return login_key(window).partition(LOGIN_MARK)[0]


def login_key(window: Window) -> str:
    """Return the key of the login of a window, without the mark of a route."""
    return window.provider.partition(_ROUTE)[0]


def _digest(model: ModelConfig) -> str:
    # A status reads limits too, and must start fast.
    from hashlib import blake2b  # noqa: PLC0415

    own = repr((model.args, sorted(model.env.items()))).encode()
    return blake2b(own, digest_size=6).hexdigest()


def windows_for(model: ModelConfig) -> tuple[Window, ...]:
    """Return every window that a call of the model belongs to."""
    own = window_for(model)
    families = (replace(own, model=family) for family in find_families(model.model) if family != own.model)
    return own, replace(route_for(model), model=model.model), *families


class Limit(Struct, frozen=True):
    """A closed window; after `until`, one caller may probe whether it is open again."""

    window: Window
    until: float
    code: Code
    message: str
    noted_at: float
    probing_until: float | None = None  # end of the lease of `prober`
    prober: str = ""
    closings: int = 1  # times in a row that it was closed; the delay before the next probe grows with it
    reported: bool = False  # a notice about it was recorded

    def is_valid(self, now: float) -> bool:
        """Return False if the limit was recorded in the future, so that its end is unreliable."""
        return _is_past(self.noted_at, now)

    def is_outdated(self, now: float) -> bool:
        """Return whether the window counts nothing any more of what it counted when it was closed.

        A failure of a login or a network has no such end.
        """
        length = find_length(self.window.window) or LONGEST_SECONDS
        return is_provider_limit(self.code) and max(self.until, self.noted_at + length) < now

    def extend(self, until: float, code: Code, message: str, now: float) -> Limit:
        """Return the limit after a further one; its end is never moved forward."""
        later = limit_on(self.window, until, code, message, now)
        later = replace(later, closings=self.closings, reported=self.reported)
        if not self.is_valid(now) or later.until >= self.until:
            return later
        return replace(later, until=self.until, code=self.code, message=self.message)

    def close_again(self, code: Code, message: str, now: float, first: float, longest: float) -> Limit:
        """Return the limit after a failed probe; a failure while it is closed changes nothing."""
        if self.until > now:
            return self
        closings = self.closings + 1
        until = now + probe_delay(closings, first, longest)
        return Limit(self.window, until, code, message, now, closings=closings, reported=self.reported)


class Open(Struct, frozen=True):
    """The call may start."""


class Probe(Struct, frozen=True):
    """This caller may probe, and reports the result for each window."""

    windows: tuple[Window, ...]
    is_reported: bool = False  # a notice about one of them was recorded


class Closed(Struct, frozen=True):
    """No call may start before `until`."""

    until: float
    code: Code
    message: str
    is_probed: bool = False  # another call is probing; `until` is the time to ask again


Admission = Open | Probe | Closed


def limit_on(window: Window, until: float, code: Code, message: str, now: float) -> Limit:
    """Return a new limit; an end that is too far away, or NaN, is cut."""
    longest = now + LONGEST_SECONDS
    return Limit(window, until if until <= longest else longest, code, message, now)


def probe_delay(closings: int, first: float, longest: float) -> float:
    """Return the delay before the next probe: it doubles with each failed probe."""
    return min(first * 2.0 ** min(closings - 1, 62), longest)


def check_admission(limits: Sequence[Limit], caller: str, now: float) -> Admission:
    """Decide whether a call may start under these limits.

    The end of a limit from the future is unreliable, because the clock was set back: one caller probes it.
    """
    if not limits:
        return Open()
    valid = (limit for limit in limits if limit.is_valid(now))
    last = max(valid, key=lambda limit: limit.until, default=None)
    if last is not None and last.until > now:
        return Closed(last.until, last.code, last.message)
    for limit in limits:
        if _is_leased(limit.probing_until, now) and limit.prober != caller:
            return Closed(_next_check_at(limit.probing_until, now), limit.code, limit.message, True)
    return Probe(tuple(limit.window for limit in limits), any(limit.reported for limit in limits))


class Cooldown(Struct, frozen=True):
    """Recent failures of a model. With `until` it is in cooldown; after that, one caller may try it."""

    model: str
    failures: int
    until: float | None  # None: in use, failures are counted
    code: Code  # of the last failure
    message: str
    noted_at: float
    trying_until: float | None = None

    def is_valid(self, now: float) -> bool:
        return _is_past(self.noted_at, now)

    def after_failure(self, code: Code, message: str, now: float, threshold: int, seconds: float) -> Cooldown:
        """Return the cooldown after a failure; failures of calls that started earlier change nothing."""
        if self.until is not None and self.until > now:
            return self
        starts = self.until is not None or self.failures + 1 >= threshold
        until = now + seconds if starts else None
        return Cooldown(self.model, self.failures + 1, until, code, message, now)

    def after_success(self) -> Cooldown | None:
        """Return the cooldown after a success, which ends it or offsets one failure."""
        if self.until is not None or self.failures <= 1:
            return None
        return replace(self, failures=self.failures - 1)

    def find_active(self, now: float) -> Cooldown | None:
        """Return the cooldown that blocks a call now; None: the call may start."""
        if self.until is None or not self.is_valid(now):
            return None
        if self.until > now:
            return self
        if _is_leased(self.trying_until, now):
            return replace(self, until=_next_check_at(self.trying_until, now))
        return None


def start_cooldown(model: str, now: float) -> Cooldown:
    """Return the entry of a model without failures."""
    return Cooldown(model, 0, None, Code.UNKNOWN, "", now)


def _is_past(at: float, now: float) -> bool:
    return at <= now + CLOCK_STEP_SECONDS


def _is_leased(until: float | None, now: float) -> bool:
    return until is not None and now < until <= now + LEASE_SECONDS + CLOCK_STEP_SECONDS


def _next_check_at(leased_until: float | None, now: float) -> float:
    return min(leased_until or now, now + RECHECK_SECONDS)
