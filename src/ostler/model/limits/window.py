"""Windows: what a provider counts against one limit, and how much of it is used."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ostler.model.limits import names
from ostler.model.limits.numbers import read_length

ANY = "*"
CLOCK_STEP_SECONDS = 60.0  # tolerance for corrections of the system clock
HOUR_SECONDS = 3600.0
LONGEST_SECONDS = 8 * 86_400.0  # longer than any real window (a week); a later end is an error
_SHORT_SECONDS = 600.0
_LONGEST_UNKNOWN_SECONDS = 5 * HOUR_SECONDS  # that a use without a reset time counts

WindowStatus = Literal["allowed", "warning", "rejected"]
Source = Literal["event", "header", "body", "file", "text"]
"""Where a value comes from: an event of the agent, an HTTP header or body, a session file, or a text."""


class Window(Struct, frozen=True):
    """What a provider counts against one limit; in a query, `window` ANY matches every window."""

    provider: str
    account: str = ""
    model: str = ANY  # ANY: all models of the account
    window: str = ANY  # the provider's name for it: five_hour, requests, ...

    def applies_to(self, request: Window) -> bool:
        """Return whether a limit on this window blocks the requested one."""
        return (
            (self.provider, self.account) == (request.provider, request.account)
            and self.model in (ANY, request.model)
            and (ANY in (self.window, request.window) or self.window == request.window)
        )


class ReportedWindow(Struct, frozen=True):
    """A window as an agent reported it; its account follows from the model that was called."""

    name: str  # five_hour, seven_day, seven_day_opus, day, requests, ...
    used: float | None = None  # share: 0 to 1, more when the account may exceed it; None: not reported
    resets_at: float | None = None  # Unix time; None: not reported
    status: WindowStatus = "allowed"
    seconds: float | None = None  # length of the window; None: not known
    family: str = ""  # the models that it counts, such as opus; empty: all models of the account
    source: Source = "event"

    @property
    def length(self) -> float | None:
        """The length of the window in seconds, as reported or from its name; None: not known."""
        return read_length(self.seconds) or names.find_length(self.name)

    @property
    def counts_for_policy(self) -> bool:
        """Whether tasks wait for this window: not for paid use beyond a plan, nor for short windows."""
        is_short = names.is_counted(self.name) or (self.length or LONGEST_SECONDS) < _SHORT_SECONDS
        return self.name != names.OVERAGE and not is_short


class WindowUse(Struct, frozen=True):
    """The last known use of a window of an account."""

    window: Window
    reported: ReportedWindow
    noted_at: float
    label: str = ""  # name of the account on screens

    @property
    def ends_at(self) -> float:
        """The time until which the use counts: the reset, at most a whole window after the report.

        Without a reset time it counts for the length of the window, five hours at most.
        """
        length, resets_at = self.reported.length, self.reported.resets_at
        if resets_at is None:
            return self.noted_at + min(length or HOUR_SECONDS, _LONGEST_UNKNOWN_SECONDS)
        return min(resets_at, self.noted_at + (length or LONGEST_SECONDS))

    def is_valid(self, now: float) -> bool:
        """Return False after the end, and for a report from the future: the use is not known then."""
        return self.noted_at <= now + CLOCK_STEP_SECONDS and self.ends_at > now
