"""An action: what it is called, its parameters, and the event that it records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ostler.errors import UsageError
from ostler.model.attempt import Attempt
from ostler.model.event import Event
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.model.status import TaskStatus


class Params(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The parameters of an action; a message about them is shown in help, OpenAPI and MCP schemas."""


class NoParams(Params, frozen=True):
    """The action takes no parameters."""


class Action(Struct, frozen=True):
    """One decision of a person about a task."""

    name: str
    summary: str
    details: str  # help text below the summary
    params: type[Params]
    decide: Callable[[State, Any], Event]
    """Return the event to record; raise UsageError when the task's state does not allow the action."""
    done: str  # printed after the task's id; may use the parameters
    expected: TaskStatus | None = None  # the status that `done` describes
    otherwise: str = ""  # printed instead while the task has another status
    by_status: dict[TaskStatus, str] = {}  # printed instead for these statuses
    agent_note: str = ""  # for a model that acts for a person over MCP
    ends_task: bool = False  # without an active run the task is ended at once
    deletes: bool = False  # files of the task are deleted
    undone: str = ""  # printed instead when the parameter `undo` is set
    complete: Callable[[TaskId, Any, Sequence[Attempt]], Params] | None = None
    """Complete the parameters from the running attempts of the task; raise UsageError if none fits."""

    def describe_result(self, status: TaskStatus, params: Params) -> str:
        """Return the text to print after the task's id."""
        if self.undone and getattr(params, "undo", False):
            return self.undone
        text = self.done if self.expected in (None, status) else self.by_status.get(status, self.otherwise)
        return text.format(status=status, **msgspec.structs.asdict(params))


ONLY_IF_DECIDED = "Call it only when the person you work for has made this decision."


class NotWaiting(UsageError):
    """The task waits for no decision: there was none to make, or somebody has made it."""


def not_allowed(state: State, reason: str, hint: str = "") -> UsageError:
    """Return the error for an action that the task's state does not allow."""
    return UsageError(f"{state.task} is {state.status}: {reason}", hint or f"ostler show {state.task}")
