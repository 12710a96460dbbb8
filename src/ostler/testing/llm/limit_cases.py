"""Limits of a provider by name: near its end, rejected, weekly, of one model, paid separately."""

from __future__ import annotations

from ostler.testing.llm.faults import limited
from ostler.testing.llm.limits import Limits, LimitStatus, LimitWindow
from ostler.testing.llm.script import Scripted
from ostler.testing.llm.turns import Answer, Failure, fail

_HOUR, _DAY = 3600.0, 86_400.0
_REJECTED = "This request would exceed your account's rate limit. Please try again later."
_HALF = "The answer begins well enough and then"


def near(used: float, text: str = "Done.") -> Answer:
    """Return an answer at this use of the five-hour window, and 42 % of the week."""
    return Answer(say=text, limits=_limits({"five_hour": LimitWindow(used)}))


def reject(claim: str = "five_hour", seconds: float = 4 * _HOUR, *, until_reset: bool = False) -> Failure:
    """Return a 429 by this window, which resets so many seconds after the start of the server."""
    limits = _limits({claim: LimitWindow(1.0, seconds)}, claim)
    return Failure(429, _REJECTED, limits=limits, until_reset=until_reset)


def overage(status: LimitStatus = "allowed") -> Answer:
    """Return an answer that is paid as extra usage, because the five-hour window is used up."""
    limits = _limits({"five_hour": LimitWindow(1.0)}, "five_hour", status)
    return Answer(say="Done.", limits=limits)


def _limits(windows: dict[str, LimitWindow], claim: str = "", overage: LimitStatus = "") -> Limits:
    usual = {"five_hour": LimitWindow(0.3), "seven_day": LimitWindow(0.42, 5 * _DAY)}
    return Limits({**usual, **windows}, claim, overage)


LIMITS: dict[str, Scripted] = {
    "near": near(0.93),
    "half": near(0.5),
    "rejected": reject(),
    "rejected_until_reset": reject(seconds=20.0, until_reset=True),
    "weekly": reject("seven_day", 3 * _DAY),
    "opus": reject("seven_day_opus", 2 * _DAY),
    "sonnet": reject("seven_day_sonnet", 2 * _DAY),
    "overage": overage(),
    "overage_rejected": reject("overage", 10 * _DAY),
    "exhausted": reject(seconds=5 * _HOUR + 23 * 60 + 10),
    "requests": Answer(say="Done.", limits=Limits({"requests": LimitWindow(0.98, 30.0)})),
    "requests_rejected": Failure(
        429, _REJECTED, retry_after="30", limits=Limits({"requests": LimitWindow(1.0, 30.0)})
    ),
    "retry_after_hours": limited("14400"),
    "retry_after_ms": fail(429, _REJECTED, headers={"retry-after-ms": "1500"}),
    "mid_stream": Answer(say=_HALF, breaks="error_event", error=fail(429, "Rate limit. Try again in 20s.")),
}
