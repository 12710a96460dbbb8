"""The values of `ostler run --break`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ostler.calls.breakpoints import Breakpoint
from ostler.config.checks.expect import nearest
from ostler.errors import UsageError
from ostler.model.plan import Plan
from ostler.model.task import Task
from ostler.project.project import Project

PROMPT = "pre-prompt"
_TOOL = "tool"


def parse_breakpoint(text: str) -> Breakpoint:
    """Return the breakpoint of a value: pre-prompt, tool:NAME, tool, or a phase."""
    kind, separator, name = text.strip().partition(":")
    if not kind or (separator and (kind != _TOOL or not name)):
        raise UsageError(f'--break: "{text:.80}" is not a breakpoint', _describe_known(("a phase",)))
    if kind == _TOOL:
        return Breakpoint("TOOL_CALL", tool=name)
    return Breakpoint() if kind == PROMPT else Breakpoint(phase=kind)


def check_phases(breakpoints: Iterable[Breakpoint], project: Project, tasks: Iterable[Task]) -> None:
    """Raise UsageError for a breakpoint in a phase that none of the tasks has; a task may be new."""
    known = sorted({phase.id for task in tasks for phase in _find_plan(project, task).phases})
    for one in breakpoints:
        if one.phase and known and one.phase not in known:
            near = nearest(one.phase, [*known, PROMPT])
            hint = f"did you mean --break {near}?" if near else _describe_known(known)
            raise UsageError(f"--break: no task of this run has a phase {one.phase:.80}", hint)


def _find_plan(project: Project, task: Task) -> Plan:
    if task.id and project.journal.row(task.id) is not None:
        return project.state(task.id).plan
    from ostler.project.tasks.planning import plan_task  # noqa: PLC0415  (only for a new task)

    return plan_task(task, project.loaded, project.layout.root)


def _describe_known(phases: Sequence[str]) -> str:
    return f"use {', '.join(phases)}, {PROMPT} (each prompt), tool:NAME or tool (each tool call)"
