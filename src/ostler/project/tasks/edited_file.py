"""Takes in a task.md that a person changed, when a run claims the task."""

from __future__ import annotations

from ostler.engine.task_files import write_task_file
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.atomic import write_projection
from ostler.model.event import TaskBlocked, TaskEdited
from ostler.model.state import State
from ostler.model.task import Task
from ostler.model.task_record import list_versions
from ostler.project.project import Project
from ostler.project.tasks.edit import build_edit, find_changed_fields
from ostler.prompt.task_text import write_task
from ostler.secrets.redact import redact_text

_LARGEST_BYTES = 10 * 1024 * 1024


def take_in_edited_file(project: Project, task: Task, state: State) -> TaskEdited | TaskBlocked | None:
    """Return the edit of a changed task.md, or the reason why it is invalid; None for an unchanged file."""
    path = project.layout.task(state.task) / "task.md"
    where = f"{project.layout.shown_task(state.task).relative_to(project.layout.root) / 'task.md'}"
    try:
        with path.open("rb") as file:
            written = file.read(_LARGEST_BYTES).decode("utf-8")
        text = redact_text(written)
        if text != written:
            write_projection(path, text.encode())
        if text == write_task(task):
            return None
        versions = list_versions(project.journal.read(state.task))
        if not text.strip("\0\r\n\t ") or any(text == write_task(one) for one in versions):
            # Not changed by a person: emptied by a power cut, or written before the last edit or retry.
            write_task_file(task, project.layout)
            return None
        changed = find_changed_fields(text, task, where)
        _refuse_higher_budget(task, changed, project.settings.budget.task_usd)
        return build_edit(project, state, changed, "task.md") if changed else None
    except FileNotFoundError:
        write_task_file(task, project.layout)
        return None
    except UnicodeDecodeError as error:
        reason = f"{where} is not UTF-8 (byte {error.start})"
    except OSError as error:
        reason = f"{where} cannot be read: {error.strerror}"
    except OstlerError as error:
        reason = error.message if where in error.message else f"{where}: {error.message}"
    return TaskBlocked(
        Code.TASK_NOT_EXECUTABLE, f"the changed file is invalid: {reason}; correct or delete it, then resume"
    )


def _refuse_higher_budget(task: Task, changed: dict[str, object], default: float | None) -> None:
    """An agent can write the file, and must not raise its own budget, or replace the one of the settings."""
    limit = default if task.budget_usd is None else task.budget_usd
    if "budget_usd" not in changed or limit is None:
        return
    budget = changed["budget_usd"]
    if not (isinstance(budget, float | int) and budget <= limit):
        raise UsageError("the file cannot raise the budget", f"ostler edit {task.id} --budget-usd USD")
