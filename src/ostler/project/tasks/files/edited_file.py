"""Finds what a person changed in the files of a task, task.md and state.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ostler.engine.core.evolve import list_states
from ostler.engine.task_files import find_changed_line, is_state_text, write_task_file
from ostler.errors import OstlerError, UsageError
from ostler.files.atomic import write_projection
from ostler.model.event import Record
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.model.status import TERMINAL
from ostler.model.task import Task
from ostler.model.task_record import list_versions
from ostler.project.decisions.status_words import find_command
from ostler.project.project import Project
from ostler.prompt.task_text import write_task
from ostler.secrets.redact import redact_text
from ostler.text import describe_os_error, format_size

_LARGEST_BYTES = 10 * 1024 * 1024
_TASK, _STATE = "task.md", "state.yaml"
_BLANK = "\0\r\n\t "


def find_changed_fields(text: str, before: str, where: str) -> dict[str, Any]:
    """Return the fields that a person changed in a text of task.md; raises OstlerError for a mistake."""
    # Few tasks are edited as a file, and it loads YAML.
    from ostler.sources.task_file import read_task  # noqa: PLC0415

    written, edited = read_task(before, where), read_task(text, where)
    return {
        name: getattr(edited, name)
        for name in Task.__struct_fields__
        if getattr(edited, name) != getattr(written, name)
    }


def describe_hand_edits(project: Project, task: Task, state: State) -> tuple[str, ...]:
    """Return a sentence for each file that a person changed and no run has read yet; writes nothing."""
    where = name_task_file(project, task.id)
    use = "it is not used, because the task has ended" if state.status in TERMINAL else "the next run uses it"
    try:
        text = redact_text(_read_text(project.layout.task(task.id) / _TASK) or "")
        note = f"{where}: {use}" if _is_edit(project, task, text) else ""
        if note and state.status not in TERMINAL:
            find_changed_fields(text, write_task(task), where)
        return tuple(filter(None, (find_state_edit(project, state), note)))
    except OstlerError as error:
        return (f"{error.message}; correct or delete the file",)


def find_state_edit(project: Project, state: State) -> str:
    """Return why a changed state.yaml is refused, with its line; empty if Ostler wrote it."""
    text = _read_text(project.layout.task(state.task) / _STATE)
    changed = find_changed_line(text, state) if text else None
    # An interrupted run leaves an older state.
    if changed is None or any(is_state_text(text or "", one) for one in list_states(_read(project, state))):
        return ""
    number, line = changed
    key, _, value = line.partition(":")
    hint = find_command(state.task, value, state.status) if key.strip() == "status" else ""
    reason = f"{key.strip()} was changed" + (f" to {value.strip():.80}" if value.strip() else "")
    where = f"{_name_file(project, state.task, _STATE)}:{number}"
    advice = hint or f"ostler edit {state.task}"
    return f"{where}: {reason}, but this file is only a view of the journal; use   {advice}"


def refuse_state_edit(project: Project, task: TaskId, *commands: str) -> None:
    """Raise UsageError for a changed state.yaml, which these commands would replace.

    A command to which the error leads is allowed. An ended task has no use for the file, and the run of a
    claimed one writes it.
    """
    state = project.state(task)
    if state.status in TERMINAL or project.is_claimed(task):
        return
    reason = find_state_edit(project, state)
    if reason and not any(f"ostler {command} " in reason for command in commands):
        raise UsageError(reason, "or delete the file and repeat the command")


def _read(project: Project, state: State) -> list[Record]:
    return project.journal.read(state.task)


def read_changed_text(project: Project, task: Task) -> str | None:
    """Return the text of a task.md that a person changed; any other is written again. Raises OstlerError."""
    path = project.layout.task(task.id) / _TASK
    written = _read_text(path)
    text = redact_text(written or "")
    if text != written and written is not None:
        write_projection(path, text.encode())
    if text == write_task(task):
        return None
    if _is_edit(project, task, text):
        return text
    write_task_file(task, project.layout)
    return None


def _is_edit(project: Project, task: Task, text: str) -> bool:
    """Return False for a file that was emptied by a power cut, or written before the last edit or retry."""
    if not text.strip(_BLANK) or text == write_task(task):
        return False
    return all(text != write_task(one) for one in list_versions(project.journal.read(task.id)))


def _read_text(path: Path) -> str | None:
    """Return the text; None if there is no file. Raises OstlerError for one that cannot be read."""
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_BYTES + 1)
        if len(data) > _LARGEST_BYTES:
            raise UsageError(f"{path.name} is larger than {format_size(_LARGEST_BYTES)}")
        return data.decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path.name} is not UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise UsageError(f"{path.name} cannot be read: {describe_os_error(error)}") from None


def name_task_file(project: Project, task: TaskId) -> str:
    """Return the path of task.md in messages."""
    return _name_file(project, task, _TASK)


def _name_file(project: Project, task: TaskId, name: str) -> str:
    return str(project.layout.shown_task(task).relative_to(project.layout.root) / name)
