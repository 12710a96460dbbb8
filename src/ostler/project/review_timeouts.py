"""The timeout of human gates: what happens when nobody decides (`gates.human_timeout_seconds`)."""

from __future__ import annotations

from math import inf

from ostler.engine.core.verdicts import find_gate, has_live_rules, name_current_gate
from ostler.engine.records import append_computed_event
from ostler.errors import Code, UsageError
from ostler.model.event import Event, TaskBlocked
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.model.state import BY_TIMEOUT, Stage, State
from ostler.model.status import TaskStatus
from ostler.project.project import Project

_DONE = {"approve": "approved", "reject": "rejected", "block": "blocked"}


def apply_review_timeouts(project: Project, now: float) -> list[str]:
    """Decide about tasks whose human gate has waited too long; return a message for each.

    A person who has to decide because a gate cannot fail, because checks were weakened, because an agent
    asked for a review or proposed the task, or who has to merge a commit, has no time limit. A timeout never
    approves a change of settings, agent configuration or CI.
    """
    gates = project.settings.gates
    if gates.human_timeout_seconds is None:
        return []
    rows = [row for row in project.journal.open_rows() if row.status == TaskStatus.NEEDS_REVIEW]
    action, seconds = gates.human_timeout_action, gates.human_timeout_seconds
    late = [state for row in rows if _is_late(state := decode_state(row), action, seconds, now)]
    reason = f"nobody decided within {seconds:g} s (gates.human_timeout_seconds)"
    decided = [state.task for state in late if _decide(project, state.task, action, reason, now)]
    return [f"{task} is {_DONE[action]}: {reason}" for task in decided]


def _is_late(state: State, action: str, seconds: float, now: float) -> bool:
    if state.review_requested or state.held or state.stage is Stage.PUBLISHING:
        return False
    if action == "approve" and has_live_rules(state):
        # An approval is a looser setting: it applies to a task when a person accepted it.
        accepted = state.baseline.approve_after_seconds
        seconds = inf if accepted is None else max(seconds, accepted)
    if action == "approve" and _has_guarded_files(state):
        return False
    return now - state.updated_at >= seconds


def _has_guarded_files(state: State) -> bool:
    gate = find_gate(state, name_current_gate(state))
    return gate is not None and bool(gate.guarded)


def _decide(project: Project, task: TaskId, action: str, reason: str, now: float) -> bool:
    """Record the decision; return False if a person was faster."""

    def block(state: State) -> Event:
        if state.status is not TaskStatus.NEEDS_REVIEW:
            raise UsageError(f"{task} is {state.status}")
        return TaskBlocked(Code.GATE_REJECTED, reason)

    try:
        if action == "block":
            append_computed_event(project.journal, task, block, now)
        else:
            project.record_action(task, action, BY_TIMEOUT, {"text": reason})
    except UsageError:
        return False
    return True
