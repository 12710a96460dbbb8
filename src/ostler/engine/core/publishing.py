"""What publishing makes of a task: done, sent round by its gates, or in conflict with its target."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.core.moves import advance
from ostler.errors import Code
from ostler.model.event import Published, Rebased, StepFailed
from ostler.model.state import Ending, GateState, Stage, State
from ostler.model.status import TaskStatus

_ROUNDS = 3  # a target that moves more often than the gates can look is left alone
_OF_COMMITS = ("command", "ai")


def judged(state: State) -> str | None:
    """The commit that its gates have seen; None when no gate would be asked about another one."""
    merge_asks = state.plan.merge_gate.type in (*_OF_COMMITS, "human")
    return state.commit if merge_asks or _to_ask(state, clean=False) else None


def published(state: State, event: Published) -> State:
    told = (event.note,) if event.note and event.note not in state.warnings else ()
    there = replace(state, stage=Stage.DONE, pr_url=event.pr_url or state.pr_url)
    commit, base = event.commit or state.commit, event.base or state.base
    return replace(there, commit=commit, base=base, warnings=(*state.warnings, *told))


def rebased(state: State, event: Rebased) -> State:
    """Back to the gates that judge commits, then on to publishing, under another key."""
    moved = replace(state, commit=event.commit, tree="", base=event.base, call=state.call + 1)
    moved = replace(moved, rebases=state.rebases + 1, again=_to_ask(state, event.clean))
    if not _merge_stands(state, event.clean):
        moved = replace(moved, merge=None)
    return replace(moved, ending=_restless(state)) if moved.rebases > _ROUNDS else advance(moved)


def step_failed(state: State, event: StepFailed) -> State:
    """A conflict is for a person to solve; anything else failed."""
    status = TaskStatus.BLOCKED if event.code is Code.MERGE_CONFLICT else TaskStatus.FAILED
    return replace(state, ending=Ending(status, event.code, event.message), onto=event.onto or None)


def _to_ask(state: State, clean: bool) -> tuple[str, ...]:
    pairs = zip(state.plan.phases, state.phases, strict=True)
    return tuple(
        phase.id
        for phase, now in pairs
        if now.status == "completed"
        and phase.gate.type in _OF_COMMITS
        and not _stands(state, now.gate, clean)
    )


def _merge_stands(state: State, clean: bool) -> bool:
    return state.plan.merge_gate.type == "auto" or _stands(state, state.merge, clean)


def _stands(state: State, said: GateState | None, clean: bool) -> bool:
    """A person's yes is about the change, not about the commit that it stands on."""
    return said is not None and said.person and clean and not state.plan.reapprove


def _restless(state: State) -> Ending:
    message = (
        f"{state.target or 'the target'} moved {_ROUNDS + 1} times while the gates looked at the work, "
        f"so nothing was published; next: ostler retry {state.task}"
    )
    return Ending(TaskStatus.FAILED, Code.PUBLISH_FAILED, message)
