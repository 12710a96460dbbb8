"""What people find in a task's directory: state.yaml and task.md, made anew from the state."""

from __future__ import annotations

from ostler.clock import rfc3339
from ostler.files.atomic import remove_leftovers, write_projection
from ostler.files.layout import Layout
from ostler.files.scalar import yaml_line
from ostler.model.ids import TaskId
from ostler.model.state import State
from ostler.model.task import Task
from ostler.prompt.task_text import write_task


def project(state: State, layout: Layout) -> None:
    """Write state.yaml; the journal is the truth, so a lost one is no loss."""
    write_projection(layout.task(state.task) / "state.yaml", state_yaml(state).encode())


def project_task(task: Task, layout: Layout) -> None:
    """Write task.md, from which `ostler new -f` would make the same task."""
    write_projection(layout.task(task.id) / "task.md", write_task(task).encode())


def tidy(task: TaskId, layout: Layout) -> None:
    """Remove what a run that died left half written in the task's directory."""
    home = layout.task(task)
    for folder in (home, home / "prompts", home / "transcripts"):
        if folder.is_dir():
            remove_leftovers(folder)


def differs(before: State, after: State) -> bool:
    """Whether state.yaml would say anything new."""
    return _facts(before) != _facts(after)


def state_yaml(state: State) -> str:
    """The state in the words of the file; what an agent gets a copy of."""
    facts = _facts(state) | {"updated_at": rfc3339(state.updated_at)}
    return "".join(f"{key}: {yaml_line(value)}\n" for key, value in facts.items())


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
    }
