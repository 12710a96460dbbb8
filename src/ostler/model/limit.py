"""What a provider's limits and a model's failures mean for the next call."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import Code
from ostler.model.choice import Choice

ANY = "*"
LONGEST_SECONDS = 8 * 86_400.0  # the longest window known is a week; a later end is a mistake in the answer
LEASE_SECONDS = 60.0  # for one caller to try; then it is taken for dead
LOOK_AGAIN_SECONDS = 5.0  # for the others, while one tries
STEP_SECONDS = 60.0  # a clock that is corrected by less than this is no surprise


class Window(Struct, frozen=True):
    """What a provider counts against one limit. In a question, `window` ANY means each that there is."""

    provider: str
    account: str = ""
    model: str = ANY  # ANY: all models of the account
    window: str = ANY  # as the provider calls it: five_hour, requests, ...

    def concerns(self, asked: Window) -> bool:
        """Whether a limit on this window stands in the way of a call that `asked` describes."""
        return (
            (self.provider, self.account) == (asked.provider, asked.account)
            and self.model in (ANY, asked.model)
            and (ANY in (self.window, asked.window) or self.window == asked.window)
        )


def window_of(choice: Choice, window: str = ANY) -> Window:
    """Where the calls of a choice count: at its account, or at that of its executor when it names none."""
    provider = "" if choice.account else choice.executor
    return Window(provider, choice.account, choice.model, window)


class Limit(Struct, frozen=True):
    """A window that is closed; past `until`, one caller may try whether it is open again."""

    window: Window
    until: float
    code: Code
    message: str
    noted_at: float
    probing_until: float | None = None  # until then the probe of `prober` is out
    prober: str = ""

    def stands(self, now: float) -> bool:
        """False when the clock was wrong as it was noted: then its end means nothing."""
        return _is_past(self.noted_at, now)

    def extended(self, until: float, code: Code, message: str, now: float) -> Limit:
        """The same after a further limit, which can only make it longer."""
        later = limit_on(self.window, until, code, message, now)
        if not self.stands(now) or later.until >= self.until:
            return later
        return replace(later, until=self.until, code=self.code, message=self.message)


class Open(Struct, frozen=True):
    """Nothing is known against a call."""


class Probe(Struct, frozen=True):
    """This one caller may try, and says for each of the windows what it found."""

    windows: tuple[Window, ...]


class Closed(Struct, frozen=True):
    """No call before `until`."""

    until: float
    code: Code
    message: str


Admission = Open | Probe | Closed


def limit_on(window: Window, until: float, code: Code, message: str, now: float) -> Limit:
    """A first limit; an end that is absurdly far away, or no number, is cut."""
    longest = now + LONGEST_SECONDS
    return Limit(window, until if until <= longest else longest, code, message, now)


def admission(limits: Sequence[Limit], who: str, now: float) -> Admission:
    """What the limits on a call's windows leave to a caller."""
    standing = [limit for limit in limits if limit.stands(now)]
    if not standing:
        return Open()
    last = max(standing, key=lambda limit: limit.until)
    if last.until > now:
        return Closed(last.until, last.code, last.message)
    for limit in standing:
        if _is_leased(limit.probing_until, now) and limit.prober != who:
            return Closed(_look_again(limit.probing_until, now), limit.code, limit.message)
    return Probe(tuple(limit.window for limit in standing))


class Rest(Struct, frozen=True):
    """A choice that failed lately. With `until` it rests; past that, one caller may try it."""

    choice: str
    failures: int
    until: float | None  # None: it is in use, and its failures are counted
    code: Code  # of the last failure
    message: str
    noted_at: float
    trying_until: float | None = None

    def stands(self, now: float) -> bool:
        return _is_past(self.noted_at, now)

    def failed(self, code: Code, message: str, now: float, threshold: int, seconds: float) -> Rest:
        """The same after a further failure; those of calls that began before the rest change nothing."""
        if self.until is not None and self.until > now:
            return self
        tired = self.until is not None or self.failures + 1 >= threshold
        until = now + seconds if tired else None
        return Rest(self.choice, self.failures + 1, until, code, message, now)

    def recovered(self) -> Rest | None:
        """The same after a success, which ends a rest, and outweighs one failure otherwise."""
        if self.until is not None or self.failures <= 1:
            return None
        return replace(self, failures=self.failures - 1)

    def turned_away(self, now: float) -> Rest | None:
        """What a caller is told who may not use the choice now; None: it may, and is the one that tries."""
        if self.until is None or not self.stands(now):
            return None
        if self.until > now:
            return self
        if _is_leased(self.trying_until, now):
            return replace(self, until=_look_again(self.trying_until, now))
        return None


def fresh(choice: str, now: float) -> Rest:
    """A choice without a failure."""
    return Rest(choice, 0, None, Code.UNKNOWN, "", now)


def _is_past(at: float, now: float) -> bool:
    return at <= now + STEP_SECONDS


def _is_leased(until: float | None, now: float) -> bool:
    return until is not None and now < until <= now + LEASE_SECONDS + STEP_SECONDS


def _look_again(leased_until: float | None, now: float) -> float:
    return min(leased_until or now, now + LOOK_AGAIN_SECONDS)
