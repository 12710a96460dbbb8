"""What a person can decide about a task in its review, and the event of that decision."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ostler.engine.core.verdicts import find_gate, name_current_gate
from ostler.errors import Code, SettingsInvalid
from ostler.model.event import (
    REVIEW_REQUEST,
    DecisionRecorded,
    Event,
    TaskReopened,
)
from ostler.model.plan import MERGE
from ostler.model.state import Stage, State
from ostler.model.status import EXECUTABLE, TaskStatus
from ostler.project.actions import ApproveParams, find_action, waits_for_decision
from ostler.project.decisions.accept import waits_to_be_merged
from ostler.project.decisions.action import NoParams
from ostler.project.decisions.dispose import describe_purged
from ostler.project.project import Project
from ostler.project.reviews.conflict import StaleReview

Then = Literal["", "merge", "pr"]
_S = TaskStatus
_LABELS: dict[str, str] = {
    "": "Approve",
    "merge": "Approve and merge",
    "pr": "Approve and open pull request",
}
_FOLLOWS: dict[str, str] = {"merge": "the merge", "pr": "the pull request", "rebase": "the rebase"}
_OVERRULED = ("fail", "could_not_run")


class Approval(Struct, frozen=True, kw_only=True):
    """Whether the work can be approved, and what follows."""

    allowed: bool
    label: str = "Approve"
    then: Then = ""
    overrules: bool = False  # a gate did not pass, and the person decides against its verdict
    reason: str = ""  # why it is not allowed


class SendBack(Struct, frozen=True, kw_only=True):
    """Whether the work can be sent back."""

    allowed: bool
    reason: str = ""  # why it is not allowed


def find_version(state: State) -> str:
    """Return the commit of the work, or the digest of a document: what a person judges."""
    return state.commit or (state.tree if state.plan.is_document else "")


def require_version(state: State, shown: str | None, kept: str) -> None:
    """Raise StaleReview if a page shows other work than the present one; `kept`: what is not lost."""
    now = find_version(state)
    if (shown or "") not in (now, state.commit or ""):
        seen = f"not at {shown:.10}" if shown else "and the page shows no commit"
        message = f"{state.task} has changed: it is at {now[:10] or 'no commit'}, {seen}"
        raise StaleReview(message, kept)


def find_approval(project: Project, state: State) -> Approval:
    """Return whether a person can approve the work now, and what is proposed to follow."""
    if state.held:
        return Approval(allowed=True, label="Start")
    if state.status is not _S.COMPLETED and not waits_for_decision(state):
        return Approval(allowed=False, reason=_explain_status(state))
    if state.status is _S.COMPLETED and (state.published_into or state.pr_url):
        return Approval(allowed=False, reason=_describe_published(state))
    then = _propose_publication(project, state)
    gate = find_gate(state, name_current_gate(state)) if state.status is not _S.COMPLETED else None
    overrules = gate is not None and gate.verdict in _OVERRULED
    label = _LABELS[then].replace("Approve", "Approve anyway", 1) if overrules else _LABELS[then]
    return Approval(allowed=True, label=label, then=then, overrules=overrules)


def find_send_back(state: State) -> SendBack:
    """Return whether a person can send the work back to its agent now."""
    reason = ""
    if state.has_no_files:
        reason = f"{describe_purged(state)}; ostler new --after {state.task} starts a new task"
    elif state.held:
        reason = "it has not started; reject the proposal instead"
    elif state.status is _S.APPROVED:
        reason = f"an approved task cannot be reopened; ostler new --after {state.task} starts a new task"
    elif state.status is _S.BLOCKED and not state.claims:
        reason = "no agent has worked on it yet"
    elif state.status not in (_S.COMPLETED, _S.NEEDS_REVIEW, _S.BLOCKED):
        reason = _explain_status(state)
    return SendBack(allowed=not reason, reason=reason)


def build_approval(state: State, text: str, then: Then) -> DecisionRecorded | TaskReopened | None:
    """Return the event of an approval; None if it only records that completed work was approved.

    Raises UsageError if the work cannot be published so.
    """
    if state.status is not _S.COMPLETED:
        as_planned = then == state.publishing or state.held or waits_to_be_merged(state)
        params = ApproveParams(text=text, then="" if as_planned else then)
        event = find_action("approve").decide(state, params)
    elif then:
        event = find_action("merge" if then == "merge" else "publish").decide(state, NoParams())
    else:
        return None
    assert isinstance(event, DecisionRecorded | TaskReopened)
    return event


def build_return(state: State, number: int, text: str) -> Event:
    """Return the event that sends the work back; `text` describes the review in one line."""
    if state.status is _S.COMPLETED:
        return TaskReopened(REVIEW_REQUEST, text=text, review=number)
    return DecisionRecorded("reject" if waits_for_decision(state) else "resume", text, review=number)


def can_merge(project: Project, state: State) -> bool:
    """Return whether Ostler can merge the work on this machine."""
    if state.commit is None or state.branch is None:
        return False
    try:
        settings = project.settings
    except SettingsInvalid:
        return False
    return settings.git.worktree and not settings.engine.moves_tasks


def _propose_publication(project: Project, state: State) -> Then:
    """Return how the work is published after its approval, if nothing else is to be decided before."""
    if waits_to_be_merged(state):
        return "merge"
    if state.status is not _S.COMPLETED and not _is_last_decision(state):
        return ""
    planned = state.publishing if state.status is not _S.COMPLETED else "none"
    if planned == "rebase":
        return ""
    if planned != "none":
        return planned if state.branch is not None else ""
    return "merge" if can_merge(project, state) else ""


def _is_last_decision(state: State) -> bool:
    """Return whether no phase and no other person's gate follows."""
    if state.stage is Stage.MERGING:
        return True
    open_phases = [one.id for one in state.phases if one.status not in ("completed", "skipped")]
    is_last = not open_phases or open_phases == [name_current_gate(state)]
    return is_last and state.baseline.gate(MERGE).type != "human"


def _describe_published(state: State) -> str:
    return (
        f"its pull request is {state.pr_url}" if state.pr_url else f"it is merged into {state.published_into}"
    )


def _explain_status(state: State) -> str:
    if state.status is _S.REVISION:
        return "it was sent back and waits for its agent"
    if state.status in EXECUTABLE and state.requested_publishing:
        follows = _FOLLOWS.get(state.requested_publishing, "the end")
        return f"it was decided; {follows} follows as soon as a run is free"
    if state.status in EXECUTABLE:
        return f"it is {state.status} and waits for its agent"
    if state.status is _S.IN_PROGRESS:
        return "its agent is working on it"
    if state.status is _S.BLOCKED and state.code is Code.MERGE_CONFLICT:
        return f"it conflicts with {state.target or 'its target'}, which has to be resolved first"
    if state.status is _S.BLOCKED:
        return "its agent waits for an answer, and there is nothing to approve"
    if state.status in (_S.FAILED, _S.QUARANTINED):
        return f"it has failed; ostler retry {state.task} runs it again"
    return f"it is {state.status}"
