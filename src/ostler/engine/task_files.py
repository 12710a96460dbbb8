"""Writes state.yaml and task.md into the directory of a task."""

from __future__ import annotations

from ostler.clock import format_rfc3339
from ostler.files.atomic import remove_temporary_files, write_projection
from ostler.files.layout import Layout
from ostler.files.yaml_writer import write_yaml_value
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.model.task import Task
from ostler.prompt.task_text import write_task

AGENT_STATE = ".ostler/state.yaml"
"""The state file in a worktree; an agent may change it."""
FILES_IN_WORKTREE = frozenset((AGENT_STATE, ".ostler/.gitignore"))
"""What Ostler writes into a worktree."""


def write_state_file(state: State, layout: Layout) -> None:
    """Write state.yaml; it is derived from the journal and may be lost."""
    write_projection(layout.task(state.task) / "state.yaml", format_state_file(state).encode())


def write_task_file(task: Task, layout: Layout) -> None:
    """Write task.md, from which `ostler new -f` creates the same task."""
    write_projection(layout.task(task.id) / "task.md", write_task(task).encode())


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
        "iteration": state.iteration,
        "branch": state.branch,
        "commit": state.commit,
        "code": state.code,
        "message": state.message,
        "warnings": state.warnings,
    }
