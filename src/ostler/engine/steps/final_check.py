"""CheckFinal: every gate has to check the final commit before the task is published or completed."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ostler.calls.thread import run_in_thread
from ostler.engine.core.step import CheckFinal, CheckGate
from ostler.engine.core.verdicts import find_gate, focus_gate, has_checked
from ostler.engine.steps.gates.guarded_files import needs_person
from ostler.engine.steps.gates.live import find_merge_gate
from ostler.engine.steps.gates.quality import name_checks, select_checks
from ostler.engine.steps.protection import find_protection, find_publication
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.model.event import FinalChecked
from ostler.model.plan import Gate
from ostler.model.policy.protection import MERGE, Protection
from ostler.model.state import State


async def check_final(step: CheckFinal, context: TaskContext, services: StepServices) -> StepResult:
    """Check the next gate that has not checked the final commit; without one, record what follows."""
    used = find_protection(context, services)
    name = step.asked or next(list_unchecked(context.state, used), "")
    if not name:
        return StepResult(await run_in_thread(_build_end, used, context, services))
    from ostler.engine.steps.gate import check_gate  # noqa: PLC0415  (imported on use)

    gate = Gate("human") if step.asked else used.gate(name)
    focused = replace(context, state=focus_gate(context.state, name))
    return await check_gate(CheckGate(step.task, step.key, name, gate, step.sha), focused, services)


def list_unchecked(state: State, used: Protection) -> Iterator[str]:
    """Yield the gates of completed phases, then the others, whose verdict is missing or outdated."""
    skipped = {phase.id for phase in state.phases if phase.status == "skipped"}
    names = dict.fromkeys(
        (*(phase.id for phase in state.phases), *used.gates, *(one.name for one in state.gates))
    )
    for name in names:
        if name == MERGE or name in skipped:
            continue
        if not has_checked(state, name, used.gate(name)) or _has_outdated_checks(state, name, used):
            yield name


def _has_outdated_checks(state: State, name: str, used: Protection) -> bool:
    """Return whether quality checks of a phase have not run on the files of the last commit."""
    own = select_checks(used.checks, name, state)
    if not own or state.commit is None:
        return False
    found = find_gate(state, name)
    if found is None or not set(name_checks(own)) <= set(found.checks):
        # Added or changed after the phase had passed.
        return True
    return not found.by_person and not state.is_about_last_commit(found)


def _build_end(used: Protection, context: TaskContext, services: StepServices) -> FinalChecked:
    state, how = context.state, find_publication(context, services)
    gate = find_merge_gate(used, context, services)
    if has_checked(state, MERGE, gate) and not _lacks_person(gate, context, services):
        return FinalChecked("skip", how, state.commit)
    return FinalChecked("auto" if gate.passes_automatically else gate.type, how, state.commit)


def _lacks_person(gate: Gate, context: TaskContext, services: StepServices) -> bool:
    """Return whether a timeout passed the human gate, and the work changes guarded files."""
    state = context.state
    return gate.type == "human" and needs_person(state.merge, state, services)
