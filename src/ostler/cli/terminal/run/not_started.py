"""The line at the end of a run about ready tasks that it did not start."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ostler.calls.models.availability import Unavailable
from ostler.cli.terminal.text import to_one_line
from ostler.clock import format_local_time
from ostler.errors import needs_account_fix
from ostler.model.ids import TaskId

_AFTER_FAILURES = "the run stopped after failures.  Next: ostler run --all"


def describe_not_started(held: Mapping[TaskId, Unavailable | None]) -> list[str]:
    """Return one line for each cause: the number of tasks, the cause and the next step."""
    causes: dict[str, int] = {}
    for hold in held.values():
        cause = _AFTER_FAILURES if hold is None else _describe_hold(hold)
        causes[cause] = causes.get(cause, 0) + 1
    return [f"{_count(number)} not started: {cause}" for cause, number in causes.items()]


def has_held(not_started: Mapping[TaskId, Unavailable | None]) -> bool:
    """Return whether a task was not started because of the [limits] of the settings."""
    return any(hold is not None and hold.reason == "held" for hold in not_started.values())


def _describe_hold(hold: Unavailable) -> str:
    # The message of a held task names the setting, and no call was refused.
    parts = (hold.message,) if hold.reason == "held" else (hold.code, hold.message)
    reason = to_one_line(": ".join(filter(None, parts)))
    if needs_account_fix(hold.code) or hold.until is None:
        return f"{reason}.  Next: ostler run --all   after that"
    return f"{reason}.  Next: ostler run --all   from {format_local_time(hold.until, time.time())} on"


def _count(number: int) -> str:
    return "1 more task was" if number == 1 else f"{number} more tasks were"
