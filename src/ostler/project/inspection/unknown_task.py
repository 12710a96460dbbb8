"""The errors for an id that names no task."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ostler.clock import format_rfc3339
from ostler.errors import UsageError
from ostler.model.ids import TaskId

if TYPE_CHECKING:
    from ostler.project.project import Project

_LIST = "run ostler status to see the tasks"


def create_unknown_error(project: Project, text: str) -> UsageError:
    """Return the error for a text that is neither an id nor the beginning of one."""
    from ostler.project.agents.stored_session import find_sessions  # noqa: PLC0415  (it imports the project)

    if removed := find_removed_error(project, TaskId(text)):
        return removed
    if sessions := find_sessions(project, text):
        name = sessions[0].session_id
        commands = f"ostler log {name}   or   ostler agent resume {name} -p TEXT"
        return UsageError(f"{text:.200} is a session, not a task", commands)
    return UsageError(f"no task {text[:200] or 'with an empty id'}", _LIST)


def find_unknown_tasks(project: Project, names: Iterable[str]) -> list[UsageError]:
    """Return an error for each id or id prefix that names no task."""
    errors: list[UsageError] = []
    for name in names:
        try:
            project.resolve(name)
        except UsageError as error:
            errors.append(error)
    return errors


def find_removed_error(project: Project, task: TaskId) -> UsageError | None:
    """Return the error for the id of a removed task; None for any other id."""
    at = project.find_removal(task)
    return None if at is None else UsageError(f"{task} was removed at {format_rfc3339(at)}", _LIST)
