"""Writes state.yaml and task.md into the directory of a task."""

from __future__ import annotations

from ostler.clock import format_rfc3339
from ostler.errors import OstlerError
from ostler.files.atomic import remake_private_dir, remove_temporary_files, write_projection
from ostler.files.layout import Layout
from ostler.files.yaml_writer import write_yaml_value
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.model.task import Task
from ostler.prompt.task_text import write_task

AGENT_STATE = ".ostler/state.yaml"
"""The state file in a worktree; an agent may change it."""
_COMPARED = frozenset(("status", "phase", "branch", "commit", *Task.__struct_fields__))
FILES_IN_WORKTREE = frozenset((AGENT_STATE, ".ostler/.gitignore"))
"""What Ostler writes into a worktree."""


def write_state_file(state: State, layout: Layout) -> None:
    """Write state.yaml; it is derived from the journal and may be lost."""
    _write(state.task, "state.yaml", format_state_file(state), layout)


def write_task_file(task: Task, layout: Layout) -> None:
    """Write task.md, from which `ostler new -f` creates the same task."""
    _write(task.id, "task.md", write_task(task), layout)


def _write(task: TaskId, name: str, text: str, layout: Layout) -> None:
    """Write a file that the journal can restore; if it cannot be written, nothing stops because of it.

    What it shows is recorded already: an error would make the caller repeat it. A fault of the machine, such
    as a full disk, ends the run at its next record.
    """
    folder = layout.task(task)
    try:
        remake_private_dir(folder, layout.state)
        write_projection(folder / name, text.encode())
    except OstlerError as error:
        from logging import getLogger  # noqa: PLC0415  (reading a status logs nothing)

        getLogger(__name__).warning("%s of %s could not be written: %s", name, task, error.message)


def remove_partial_files(task: TaskId, layout: Layout) -> None:
    """Remove temporary files of a killed run from the task's directory and its worktree."""
    task_dir, own = layout.task(task), (layout.worktree(task) / AGENT_STATE).parent
    inside = task_dir.iterdir() if task_dir.is_dir() else ()
    for folder in (task_dir, *inside, own):
        if folder.is_dir() and not folder.is_symlink():
            remove_temporary_files(folder)


def is_state_file_outdated(before: State, after: State) -> bool:
    """Return whether state.yaml changes between two states."""
    return _facts(before) != _facts(after)


def is_state_file_current(state: State, layout: Layout) -> bool:
    """Return whether state.yaml has this state; a task that never ran may have no file."""
    try:
        text = (layout.task(state.task) / "state.yaml").read_text("utf-8")
    except FileNotFoundError:
        return state.status is TaskStatus.PENDING
    except (OSError, UnicodeDecodeError):
        return False
    return _without_time(text) == _without_time(format_state_file(state))


def is_state_text(text: str, state: State) -> bool:
    """Return whether state.yaml has no other values than those of this state."""
    return find_changed_line(text, state) is None


def find_changed_line(text: str, state: State) -> tuple[int, str] | None:
    """Return the first line of state.yaml that a person changed, with its number; None if there is none.

    Only what people change is compared: the fields below, and those of a task, which task.md has.
    """
    written = set(format_state_file(state).splitlines())
    for number, line in enumerate(text.splitlines(), 1):
        key = line.partition(":")[0].strip()
        if key in _COMPARED and line.strip() not in written:
            return number, line
    return None


def _without_time(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("updated_at:")]


def format_state_file(state: State) -> str:
    """Return the text of state.yaml, of which the agent gets a copy."""
    facts = _facts(state) | {"updated_at": format_rfc3339(state.updated_at)}
    return "".join(f"{key}: {write_yaml_value(value)}\n" for key, value in facts.items())


def _facts(state: State) -> dict[str, object]:
    return {
        "id": state.task,
        "title": state.title,
        "status": state.status,
        "phase": state.current.id,
        "iteration": state.shown_iteration,
        "session_id": state.session_id or None,
        "branch": state.branch,
        "commit": state.commit,
        "code": state.code,
        "message": state.message,
        "warnings": state.warnings,
    }
