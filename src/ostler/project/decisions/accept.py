"""The actions that accept work: merge, publish and rebase; and undo."""

from __future__ import annotations

from ostler.engine.core.requests import UNDO_RULES, is_publication_only
from ostler.errors import UsageError
from ostler.model.event import (
    MERGE_REQUEST,
    PUBLISH_REQUEST,
    REBASE_REQUEST,
    DecisionRecorded,
    Event,
    TaskReopened,
)
from ostler.model.state import Stage, State
from ostler.model.status import TaskStatus
from ostler.project.decisions.action import ONLY_IF_DECIDED, Action, NoParams, not_allowed
from ostler.project.decisions.dispose import require_files
from ostler.views.accept import AcceptChoice


def waits_to_be_merged(state: State) -> bool:
    """Return whether only the checkout of the target prevented the merge."""
    return state.status is TaskStatus.NEEDS_REVIEW and state.stage is Stage.PUBLISHING


def _merge(state: State, params: NoParams) -> Event:
    if waits_to_be_merged(state):
        return DecisionRecorded("approve", "ostler merge")
    _require_completed(state, "merge", "merged")
    return TaskReopened(MERGE_REQUEST)


def _publish(state: State, params: NoParams) -> Event:
    _require_completed(state, "publish", "published")
    return TaskReopened(PUBLISH_REQUEST)


def _rebase(state: State, params: NoParams) -> Event:
    _require_completed(state, "rebase", "rebased")
    if state.pr_url:
        raise UsageError(
            f"{state.task} has a pull request: publish rebases its branch and updates the pull request",
            f"ostler publish {state.task}",
        )
    return TaskReopened(REBASE_REQUEST)


def _require_completed(state: State, verb: str, done: str) -> None:
    if state.status is not TaskStatus.COMPLETED:
        raise not_allowed(state, f"only a completed task can be {done}")
    if state.branch is None or state.commit is None:
        raise UsageError(f"{state.task} has no commit to {verb}", f"ostler show {state.task}")
    require_files(state, f"{done} by Ostler")


def list_choices(state: State) -> tuple[AcceptChoice, ...]:
    """Return what can be done with completed work now, and why not; empty for other tasks."""
    if state.status is not TaskStatus.COMPLETED or state.branch is None or state.commit is None:
        return ()
    target = state.target or "the target"
    labels = {
        "merge": f"Merge into {target}",
        "publish": "Update its pull request" if state.pr_url else "Open a pull request",
        "rebase": f"Rebase onto {target}",
    }
    return tuple(
        _choose(action, labels[action.name], state) for action in ACCEPTANCES if action.name in labels
    )


def _choose(action: Action, label: str, state: State) -> AcceptChoice:
    try:
        action.decide(state, NoParams())
    except UsageError as error:
        return AcceptChoice(action.name, label, allowed=False, reason=error.message)
    return AcceptChoice(action.name, label, allowed=True)


def _undo(state: State, params: NoParams) -> Event:
    if state.undoable is None:
        raise _explain_too_late(state)
    return DecisionRecorded("undo")


def _explain_too_late(state: State) -> UsageError:
    """Return why there is nothing to take back, in one sentence."""
    if state.rules < UNDO_RULES:
        return not_allowed(state, "it was started by an older version, which cannot take a decision back")
    if state.status is TaskStatus.IN_PROGRESS:
        stop = "cancel" if is_publication_only(state) else "pause"
        reason = "it is too late for undo, because a run has begun to act on the decision"
        return not_allowed(state, reason, f"ostler {stop} {state.task}")
    if state.status is TaskStatus.COMPLETED and state.published_into:
        return not_allowed(state, f"it is too late for undo, because {state.published_into} has the work")
    return not_allowed(state, "there is no decision that can be taken back")


ACCEPTANCES = (
    Action(
        "merge",
        "Merge completed tasks into their target",
        "Merge completed tasks into their target, in the order of their dependencies. Tasks that they build "
        "on are merged first. A task is rebased if the target moved, and its gates are asked on the merged "
        "commit; no agent runs. A target that is checked out is fast-forwarded if the checkout is clean.",
        NoParams,
        _merge,
        "is to be merged.",
        agent_note=ONLY_IF_DECIDED,
    ),
    Action(
        "publish",
        "Open pull requests for completed tasks",
        "Open pull requests for completed tasks, whatever git.on_complete is. A task is rebased if the "
        "target moved, and its gates are asked on the published commit; no agent runs. The open pull request "
        "of a task is brought up to date.",
        NoParams,
        _publish,
        "is to be published.",
        agent_note=ONLY_IF_DECIDED,
    ),
    Action(
        "rebase",
        "Rebase completed tasks onto their target",
        "Rebase completed tasks onto their target as it is now, and ask their gates on the new commit. No "
        "agent runs, and nothing is published.",
        NoParams,
        _rebase,
        "is to be rebased.",
    ),
    Action(
        "undo",
        "Take back an approval, or a request to publish",
        "Take back the last approval of a task, or the last request to merge, publish or rebase it, while no "
        "run has begun to act on it. The task is as it was before.",
        NoParams,
        _undo,
        "is {status} again: the decision is taken back.",
    ),
)
