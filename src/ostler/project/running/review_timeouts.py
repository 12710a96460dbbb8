"""The timeout of human gates: what happens when nobody decides (`gates.human_timeout_seconds`)."""

from __future__ import annotations

from math import inf

from msgspec import Struct

from ostler.config.settings import GateOptions, GateSettings
from ostler.engine.core.verdicts import find_gate, has_live_rules, name_current_gate
from ostler.engine.records import append_computed_event
from ostler.engine.task_files import write_state_file
from ostler.errors import Code, UsageError
from ostler.model.event import Event, TaskBlocked, TaskCancelled
from ostler.model.notice import ReviewReminded
from ostler.model.rows import decode_state
from ostler.model.state import BY_TIMEOUT, Stage, State
from ostler.model.status import TaskStatus
from ostler.project.project import Project

_DONE = {
    "remind": "waiting for you",
    "approve": "approved",
    "reject": "rejected",
    "block": "blocked",
    "cancel": "cancelled",
}


class _Policy(Struct, frozen=True):
    """What happens to a gate that nobody decides, and when."""

    action: str
    seconds: float
    key: str  # of the setting with the seconds

    @property
    def reason(self) -> str:
        return f"nobody decided within {self.seconds:g} s ({self.key})"


def apply_review_timeouts(project: Project, now: float) -> list[str]:
    """Decide about tasks whose human gate has waited too long; return a message for each.

    A person who has to decide because a gate cannot fail, because checks were weakened, because an agent
    asked for a review or proposed the task, or who has to merge a commit, has no time limit. A timeout never
    approves a change of settings, agent configuration or CI.
    """
    gates = project.settings.gates
    limits = (gates.human_timeout_seconds, *(one.human_timeout_seconds for one in gates.options.values()))
    shortest = min(filter(None, limits), default=None)
    if shortest is None:
        return []
    messages: list[str] = []
    # A worker looks every second, and thousands of tasks can wait.
    for state in map(decode_state, project.journal.late_reviews(now - shortest)):
        policy = _find_policy(state, gates)
        if policy is None or not _is_late(state, policy, now):
            continue
        apply = _remind if policy.action == "remind" else _decide
        if apply(project, state, policy, now):
            messages.append(f"{state.task} is {_DONE[policy.action]}: {policy.reason}")
    return messages


def _find_policy(state: State, gates: GateSettings) -> _Policy | None:
    """Return the policy of the current gate: its own values first; None: it waits for a person."""
    name = name_current_gate(state)
    own = gates.options.get(name, GateOptions())
    seconds = own.human_timeout_seconds or gates.human_timeout_seconds
    where = f"gates.options.{name}" if own.human_timeout_seconds else "gates"
    action = own.human_timeout_action or gates.human_timeout_action
    return _Policy(action, seconds, f"{where}.human_timeout_seconds") if seconds else None


def _is_late(state: State, policy: _Policy, now: float) -> bool:
    if state.review_requested or state.held or state.stage is Stage.PUBLISHING:
        return False
    seconds = policy.seconds
    if policy.action == "approve" and has_live_rules(state):
        # An approval is a looser setting: it applies to a task when a person accepted it.
        accepted = state.baseline.approve_after_seconds
        seconds = inf if accepted is None else max(seconds, accepted)
    if policy.action == "approve" and _has_guarded_files(state):
        return False
    return now - state.updated_at >= seconds


def _has_guarded_files(state: State) -> bool:
    gate = find_gate(state, name_current_gate(state))
    return gate is not None and bool(gate.guarded)


def _remind(project: Project, state: State, policy: _Policy, now: float) -> bool:
    """Record a reminder, which notifications are sent for; return False if the last one is not old enough."""
    notice = ReviewReminded(name_current_gate(state), policy.reason)

    def is_recent() -> bool:
        return now - project.journal.last_notice(state.task, "review_reminded") < policy.seconds

    if is_recent():  # mostly, and a transaction locks the project
        return False
    with project.journal.transaction():  # several workers look at the same tasks
        if is_recent():
            return False
        project.journal.notify(state.task, now, [notice])
    return True


def _decide(project: Project, state: State, policy: _Policy, now: float) -> bool:
    """Record the decision; return False if a person was faster."""
    task = state.task

    def block(state: State) -> Event:
        if state.status is not TaskStatus.NEEDS_REVIEW:
            raise UsageError(f"{task} is {state.status}")
        return TaskBlocked(Code.GATE_REJECTED, policy.reason)

    try:
        if policy.action == "block":
            append_computed_event(project.journal, task, block, now)
        elif policy.action == "cancel":
            project.record_action(task, "cancel", BY_TIMEOUT, {"reason": policy.reason})
            # No step is left but the release of the workspace, which the next run performs.
            state = append_computed_event(project.journal, task, lambda _: TaskCancelled(policy.reason), now)
            write_state_file(state, project.layout)
        else:
            project.record_action(task, policy.action, BY_TIMEOUT, {"text": policy.reason})
    except UsageError:
        return False
    return True
