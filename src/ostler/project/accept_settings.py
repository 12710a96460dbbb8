"""Accepts the protecting settings for open tasks: looser values apply to them from then on."""

from __future__ import annotations

import time
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from ostler.engine.core.verdicts import (
    find_gate,
    has_live_rules,
    name_current_gate,
    waits_for_guarded_files,
)
from ostler.engine.records import append_event
from ostler.engine.steps.gates.choice import find_baseline, read_protection
from ostler.model.event import SettingsAccepted
from ostler.model.ids import TaskId
from ostler.model.policy.protection import Difference, Protection, list_differences
from ostler.model.rows import decode_state
from ostler.model.state import State
from ostler.model.status import TERMINAL, TaskStatus
from ostler.project.affordable import resume_affordable
from ostler.project.person import read_user_name
from ostler.project.project import Project

_MAX_LINES = 10


class PendingSettings(Struct, frozen=True):
    """An open task and the settings that it does not use yet."""

    task: TaskId
    protection: Protection  # as in the settings now
    differences: tuple[Difference, ...]
    removed_gate: str = ""  # gate that waits for a person but is not in the settings any more


def list_pending_settings(project: Project) -> list[PendingSettings]:
    """Return the open tasks for which the settings differ."""
    states = [decode_state(row) for row in project.journal.open_rows()]
    found = [_compare(project, state) for state in states if state.status not in TERMINAL]
    return [one for one in found if one.differences or one.removed_gate]


def accept_settings(project: Project) -> list[PendingSettings]:
    """Record the settings of this moment for each open task, and return what changes; raise inside a task."""
    project.require_person("accept settings")
    pending = list_pending_settings(project)
    for one in pending:
        texts = tuple(difference.text for difference in one.differences)
        event = SettingsAccepted(one.protection, read_user_name(), texts)
        append_event(project.journal, one.task, event, time.time())
    resume_affordable(project, time.time())
    return pending


def describe_unaccepted(project: Project) -> str:
    """Return how many open tasks do not use the settings, and the next command; empty if all use them."""
    count = len(list_pending_settings(project))
    tasks = "1 open task" if count == 1 else f"{count} open tasks"
    return f"Not accepted for {tasks}.  Next: ostler config accept" if count else ""


def describe_unused_settings(project: Project, tasks: Iterable[TaskId]) -> list[str]:
    """Return a sentence for each of the first of these tasks that do not use the settings."""
    found = [(task, project.list_unused_settings(project.state(task))) for task in tasks]
    lines = [
        f"{task} does not use the changed settings ({'; '.join(texts)}).  Next: ostler config accept"
        for task, texts in found
        if texts
    ]
    more = len(lines) - _MAX_LINES
    return [*lines[:_MAX_LINES], *([f"The same for {more} more."] if more > 0 else [])]


def describe_guarded(project: Project) -> list[str]:
    """Return a sentence for each task that waits for a person whatever the settings are."""
    states = [decode_state(row) for row in project.journal.open_rows()]
    return [
        f"{state.task} waits for you in any case: it changes {', '.join(state.merge.guarded)}."
        f"  Next: ostler approve {state.task}"
        for state in states
        if waits_for_guarded_files(state) and state.merge is not None
    ]


def _compare(project: Project, state: State) -> PendingSettings:
    live = read_protection(project.task(state.task), state.plan, project.settings)
    return PendingSettings(
        state.task, live, list_differences(find_baseline(state, live), live), _find_removed_gate(state, live)
    )


def _find_removed_gate(state: State, live: Protection) -> str:
    if state.status is not TaskStatus.NEEDS_REVIEW or not has_live_rules(state) or state.review_requested:
        return ""
    name = name_current_gate(state)
    gate = find_gate(state, name)
    waits = gate is not None and gate.verdict == "pending"
    if waits_for_guarded_files(replace(state, protection=live)):
        return ""
    return name if waits and live.gate(name).passes_automatically else ""
