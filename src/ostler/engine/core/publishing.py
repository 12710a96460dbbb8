"""Applies the results of publishing: published, rebased, or failed."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.core.moves import advance
from ostler.engine.core.verdicts import drop_outdated_approvals, enter_final_stage, has_live_rules
from ostler.errors import Code
from ostler.model.event import Published, Rebased, StepFailed
from ostler.model.state import Ending, GateState, Stage, State
from ostler.model.status import TERMINAL, TaskStatus

_MAX_REBASES = 3  # in a row, before publishing fails
_COMMIT_GATES = ("command", "ai")


def find_checked_commit(state: State) -> str | None:
    """Return the commit that the gates checked; None if no gate would check a rebased one."""
    if has_live_rules(state):
        return state.commit
    checks_merge = state.plan.merge_gate.type in (*_COMMIT_GATES, "human")
    return state.commit if checks_merge or _phases_to_recheck(state, clean=False) else None


def apply_published(state: State, event: Published) -> State:
    notes = (event.note,) if event.note and event.note not in state.warnings else ()
    published = replace(
        state, pr_url=event.pr_url or state.pr_url, published_into=event.into or state.published_into
    )
    if state.status in TERMINAL:
        # Something changed after the end, such as the base of its pull request.
        return published
    done = replace(published, stage=Stage.DONE, publish_as=None, publish_next=None, completed=None)
    commit, base = event.commit or state.commit, event.base or state.base
    return replace(done, commit=commit, base=base, warnings=(*state.warnings, *notes))


def apply_rebased(state: State, event: Rebased) -> State:
    """Repeat the gates that check commits, then publish again."""
    moved = replace(state, commit=event.commit, tree="", base=event.base, call=state.call + 1)
    if has_live_rules(state):
        return _check_rebased(replace(moved, rebases=state.rebases + 1), event)
    moved = replace(moved, rebases=state.rebases + 1, recheck_phases=_phases_to_recheck(state, event.clean))
    if not _is_merge_still_approved(state, event.clean):
        moved = replace(moved, merge=None)
    return (
        replace(moved, ending=_target_keeps_moving(state)) if moved.rebases > _MAX_REBASES else advance(moved)
    )


def _check_rebased(state: State, event: Rebased) -> State:
    """Return to the final stage; a person's approval covers a clean rebase."""
    if state.rebases > _MAX_REBASES:
        return replace(state, ending=_target_keeps_moving(state))
    keeps = event.clean and not state.plan.reapprove
    state = state if keeps else drop_outdated_approvals(state)
    merge = state.merge if _is_still_approved(state, state.merge, event.clean) else None
    return enter_final_stage(replace(state, merge=merge))


def apply_step_failed(state: State, event: StepFailed) -> State:
    """Block on a conflict, which a person has to solve; fail otherwise, unless the task has ended."""
    if state.status in TERMINAL:
        return state
    status = TaskStatus.BLOCKED if event.code is Code.MERGE_CONFLICT else TaskStatus.FAILED
    return replace(
        state, ending=Ending(status, event.code, event.message), conflict_commit=event.conflict_commit or None
    )


def _phases_to_recheck(state: State, clean: bool) -> tuple[str, ...]:
    pairs = zip(state.plan.phases, state.phases, strict=True)
    return tuple(
        phase.id
        for phase, now in pairs
        if now.status == "completed"
        and phase.gate.type in _COMMIT_GATES
        and not _is_still_approved(state, now.gate, clean)
    )


def _is_merge_still_approved(state: State, clean: bool) -> bool:
    return state.plan.merge_gate.type == "auto" or _is_still_approved(state, state.merge, clean)


def _is_still_approved(state: State, gate: GateState | None, clean: bool) -> bool:
    """Return whether a person's approval also covers the rebased commit."""
    return gate is not None and gate.by_person and clean and not state.plan.reapprove


def _target_keeps_moving(state: State) -> Ending:
    message = (
        f"{state.target or 'the target'} moved {_MAX_REBASES + 1} times while the gates checked the work; "
        f"nothing was published; next: ostler retry {state.task}"
    )
    return Ending(TaskStatus.FAILED, Code.PUBLISH_FAILED, message)
