"""Edits an open task: with `ostler edit`, over the API, or by a change of its task.md.

The text, the priority, the budget and the agent can change until the task ends; what the plan depends on only
before the first run claims the task.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ostler.clock import format_rfc3339
from ostler.engine.records import append_computed_event
from ostler.engine.task_files import write_state_file, write_task_file
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.atomic import make_private_dir
from ostler.model.event import TaskBlocked, TaskEdited
from ostler.model.ids import TaskId
from ostler.model.plan import Plan
from ostler.model.state import State
from ostler.model.status import TERMINAL
from ostler.model.task import PriorityName, Task, Weight, to_priority
from ostler.project.decisions.moments import parse_start
from ostler.project.decisions.status_words import reopen_command
from ostler.project.inspection.refuse import refuse
from ostler.project.inspection.task import find_task_errors
from ostler.project.project import Project
from ostler.project.tasks.files.edited_file import (
    find_changed_fields,
    find_state_edit,
    name_task_file,
    read_changed_text,
    refuse_state_edit,
)
from ostler.project.tasks.lists.queue import find_moves
from ostler.project.tasks.planning import plan_task
from ostler.project.tasks.title import normalize_title
from ostler.prompt.task_text import write_task
from ostler.views.task import TaskView

_UNTIL_THE_END = frozenset(
    [
        "title",
        "body",
        "priority",
        "executor",
        "model",
        "tier",
        "budget_usd",
        "timeout_seconds",
        "max_retries",
        "tags",
        "not_before",
        "queued_at",
    ]
)
_BEFORE_THE_START = frozenset(
    ["weight", "phases", "after", "after_any", "role", "feature", "inputs", "label"]
)
_PLANNED = frozenset({"weight", "phases", "role"})
_TIMES = ("not_before", "queued_at")
_LONGEST_VALUE = 60  # characters of a value in the description of an edit


# Values that mean: as in the settings.
RESETS = {"budget_usd": 0, "timeout_seconds": 0, "max_retries": -1}


class NothingChanged(UsageError):
    """The task has the given values already."""


class TaskChanges(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """New values of a task's fields; those without a value stay."""

    title: Annotated[str | None, Meta(description="What to do, in one line.")] = None
    body: Annotated[str | None, Meta(description="The task in full, as Markdown.")] = None
    priority: Annotated[
        PriorityName | None,
        Meta(description="P0 runs first; high, medium, low and background are names of P0, P2, P3 and P4."),
    ] = None
    weight: Annotated[Weight | None, Meta(description="The size; only before the first run.")] = None
    executor: Annotated[str | None, Meta(description="The agent; empty: as in the settings.")] = None
    model: Annotated[str | None, Meta(description="The model; empty: as in the settings.")] = None
    after: Annotated[
        tuple[str, ...] | None, Meta(description="Tasks that must be completed first; before the first run.")
    ] = None
    budget_usd: Annotated[
        Annotated[float, Meta(ge=0, le=1e12)] | None,
        Meta(description="The maximum cost in US dollars; 0: no budget of its own."),
    ] = None
    timeout_seconds: Annotated[
        float | None, Meta(description="The timeout of one attempt; 0: as in the settings.")
    ] = None
    max_retries: Annotated[int | None, Meta(description="Retries on one model; -1: as in the settings.")] = (
        None
    )
    tier: Annotated[str | None, Meta(description="The model tier; empty: none.")] = None
    tags: Annotated[tuple[str, ...] | None, Meta(description="The tags.")] = None
    not_before: Annotated[
        str | None, Meta(description="The earliest start, such as 18:30; empty: at once.")
    ] = None
    queue: Annotated[
        str | None,
        Meta(
            description="The place among waiting tasks of the same priority: first, last, before:ID or "
            "after:ID, whose priority it gets; empty: by age."
        ),
    ] = None
    role: Annotated[str | None, Meta(description="The agent's role; only before the first run.")] = None
    phases: Annotated[
        tuple[str, ...] | None,
        Meta(description="The phases; none: those of the weight; only before the first run."),
    ] = None
    feature: Annotated[
        str | None, Meta(description="The slot pool to run in; only before the first run.")
    ] = None
    label: Annotated[
        str | None,
        Meta(description="Only workers with this label run it; empty: any; only before the first run."),
    ] = None


def edit_task(project: Project, task: TaskId, changes: TaskChanges, by: str = "edit") -> TaskView:
    """Record new values of a task; raises UsageError for values that it cannot get any more."""
    given = {name: value for name, value in msgspec.structs.asdict(changes).items() if value is not None}
    given |= {name: None for name, value in RESETS.items() if given.get(name) == value}
    if "not_before" in given:
        given["not_before"] = parse_start(given["not_before"]) if given["not_before"] else None
    if "queue" not in given:
        return record_edit(project, task, given, by)
    priority = to_priority(given.get("priority") or project.task(task).priority)
    moves = find_moves(project, task, given.pop("queue"), priority)
    view = record_edit(project, task, given | moves.pop(task), by)
    for other, fields in moves.items():
        record_edit(project, other, fields, by)
    return view


def record_edit(project: Project, task: TaskId, given: Mapping[str, Any], by: str) -> TaskView:
    """Record the fields that differ from those of the task, and write task.md."""
    project.require_person("edit tasks")
    record_file_edit(project, task)
    state = append_computed_event(
        project.journal, task, lambda state: build_edit(project, state, given, by), project.now()
    )
    make_private_dir(project.layout.task(task))
    write_task_file(project.task(task), project.layout)
    if not project.is_claimed(task):
        write_state_file(state, project.layout)
    return project.show(task)


def record_file_edit(project: Project, task: TaskId) -> None:
    """Record what a person changed in task.md, which an edit replaces; raises UsageError for a mistake."""
    refuse_state_edit(project, task, "edit", "set")
    state = project.state(task)
    if state.status in TERMINAL or build_file_edit(project, state) is None:
        return
    with suppress(NothingChanged):  # a run has recorded it in the meantime
        append_computed_event(
            project.journal, task, lambda one: _require_file_edit(project, one), project.now()
        )
    write_task_file(project.task(task), project.layout)


def take_in_edited_file(project: Project, state: State) -> TaskEdited | TaskBlocked | None:
    """Return the edit of a changed task.md, or the reason why a changed file is refused; None if none is."""
    try:
        if refusal := find_state_edit(project, state):
            return TaskBlocked(Code.TASK_NOT_EXECUTABLE, refusal)
        return build_file_edit(project, state)
    except OstlerError as error:
        return TaskBlocked(Code.TASK_NOT_EXECUTABLE, f"{error.message}; correct or delete it, then resume")


def build_file_edit(project: Project, state: State) -> TaskEdited | None:
    """Return the edit of a task.md that a person changed; raises UsageError for an invalid one."""
    task, where = project.task(state.task), name_task_file(project, state.task)
    try:
        if (text := read_changed_text(project, task)) is None:
            return None
        changed = find_changed_fields(text, write_task(task), where)
        _refuse_higher_budget(task, changed, project.settings.budget.task_usd)
        return build_edit(project, state, changed, "task.md") if changed else None
    except NothingChanged:
        return None
    except OstlerError as error:
        reason = error.message if where in error.message else f"{where}: {error.message}"
        raise UsageError(f"the changed file is invalid: {reason}", f"correct or delete {where}") from None


def _require_file_edit(project: Project, state: State) -> TaskEdited:
    if (edit := build_file_edit(project, state)) is None:
        raise NothingChanged(f"nothing to change: {state.task} has these values already")
    return edit


def override_agents(
    project: Project, tasks: list[Task], model: str | None, executor: str | None
) -> Iterator[tuple[TaskId, str]]:
    """Set model and executor of the tasks that name others; yield each task with what changed."""
    for task in tasks:
        given = {"model": model} if model and (task.model or task.tier) and task.model != model else {}
        if executor and task.executor not in ("", executor):
            given["executor"] = executor
        if given:
            record_edit(project, task.id, given, "run")
            yield task.id, ", ".join(f"{name} = {value}" for name, value in given.items())


def build_edit(project: Project, state: State, given: Mapping[str, Any], by: str) -> TaskEdited:
    """Return the event of an edit; raises UsageError when nothing changes or a field is fixed."""
    current = project.task(state.task)
    if state.status in TERMINAL:
        raise UsageError(
            f"{state.task} is {state.status}: only an open task can be edited",
            f"{reopen_command(state.task, state.status)}   makes it pending again",
        )
    edited = _convert(replace(current, **given))
    edited = replace(edited, title=normalize_title(edited.title))
    if edited.after != current.after:
        edited = replace(edited, after=project.find_dependencies(edited.after, state.task))
    changed = [name for name in Task.__struct_fields__ if getattr(edited, name) != getattr(current, name)]
    _require_editable(state, changed)
    refuse(list(find_task_errors(edited, project.setup())))
    if not changed:
        raise NothingChanged(
            f"nothing to change: {state.task} has these values already", f"ostler show {state.task}"
        )
    plan = _plan_again(project, state, edited) if _PLANNED.intersection(changed) else None
    return TaskEdited(edited, plan, by, "; ".join(_describe(name, current, edited) for name in changed))


def _convert(task: Task) -> Task:
    task = replace(task, priority=to_priority(task.priority))
    try:
        return msgspec.convert(msgspec.to_builtins(task), Task)
    except msgspec.ValidationError as error:
        reason, _, name = str(error).partition(" - at `$.")
        raise UsageError(f"invalid {name.rstrip('`') or 'task'}: {reason}") from None


def _require_editable(state: State, changed: list[str]) -> None:
    fixed = [name for name in changed if name not in _UNTIL_THE_END | _BEFORE_THE_START]
    if fixed:
        raise UsageError(
            f"{', '.join(fixed)} of {state.task} cannot change", "create another task: ostler new -f FILE.md"
        )
    late = [name for name in changed if name in _BEFORE_THE_START]
    if late and state.claims:
        raise UsageError(
            f"{', '.join(late)} of {state.task} cannot change after its first run",
            f"ostler cancel {state.task}   and create another task",
        )


def _plan_again(project: Project, state: State, edited: Task) -> Plan:
    return plan_task(edited, project.loaded, project.layout.root)


def _describe(name: str, before: Task, after: Task) -> str:
    if name == "body":
        return "body"
    old, new = (_format_value(name, getattr(one, name)) for one in (before, after))
    return f"{name}: {old} -> {new}"


def _format_value(name: str, value: Any) -> str:
    if name in _TIMES and value is not None:
        return format_rfc3339(value)
    plain: Any = msgspec.to_builtins(value) if value not in (None, "", ()) else "none"
    text = ", ".join(map(str, plain)) if isinstance(value, tuple) and plain != "none" else str(plain)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def _refuse_higher_budget(task: Task, changed: dict[str, object], default: float | None) -> None:
    """An agent can write the file, and must not raise its own budget, or replace the one of the settings."""
    limit = default if task.budget_usd is None else task.budget_usd
    if "budget_usd" not in changed or limit is None:
        return
    budget = changed["budget_usd"]
    if not (isinstance(budget, float | int) and budget <= limit):
        raise UsageError("the file cannot raise the budget", f"ostler edit {task.id} --budget-usd USD")
