"""Quality checks: commands of [gates.checks] that are run on the commit after a phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from msgspec.structs import replace

from ostler.config.settings import QualityCheck
from ostler.engine.core.step import CheckGate
from ostler.engine.steps.gates.result import GateResult, gate_log_path
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.model.policy.protection import Check
from ostler.model.state import State

_C = TypeVar("_C", QualityCheck, Check)
_PASSED = ("pass", "skipped", "not_checked")


async def add_quality_checks(
    step: CheckGate, result: GateResult, context: TaskContext, services: StepServices
) -> GateResult:
    """Run the checks of the phase after its gate passed; the first one that blocks is the result."""
    if result.verdict not in _PASSED:
        return result
    for name, check in list_checks(step, context, services).items():
        checked = await _run_check(step, name, check, context, services)
        if checked.verdict == "pass":
            result = _join_warnings(result, checked)
            continue
        reason = f"check {name}: {checked.reason}"
        if check.on_failure == "block":
            return replace(_join_warnings(checked, result), reason=reason)
        result = replace(result, warnings=(*result.warnings, reason))
    return result


def _join_warnings(result: GateResult, other: GateResult) -> GateResult:
    return replace(
        result,
        warnings=tuple(dict.fromkeys((*other.warnings, *result.warnings))),
        warning_details=(*other.warning_details, *result.warning_details),
    )


def list_checks(step: CheckGate, context: TaskContext, services: StepServices) -> dict[str, QualityCheck]:
    """Return the checks after this phase; none if they have run before a person was asked to decide."""
    if services.repository is None or step.sha is None or context.state.review_requested:
        return {}
    return select_checks(services.settings.gates.checks, step.phase, context.state)


def select_checks(checks: Mapping[str, _C], phase: str, state: State) -> dict[str, _C]:
    """Return the checks after a phase; those of a phase that the task lacks run after its last one."""
    kept = [one.id for one in state.phases if one.status != "skipped"]
    others = phase in kept[-1:]
    return {
        name: check
        for name, check in checks.items()
        if (check.phase == phase or (others and state.plan.index(check.phase) is None))
        and check.on_failure != "skip"
    }


def name_checks(checks: Mapping[str, QualityCheck | Check]) -> tuple[str, ...]:
    """Return the checks for the record: a changed command or effect is another check."""
    return tuple(f"{name} ({one.on_failure}): {one.command}" for name, one in checks.items())


async def _run_check(
    step: CheckGate, name: str, check: QualityCheck, context: TaskContext, services: StepServices
) -> GateResult:
    from ostler.engine.steps.gates.command import evaluate_run  # noqa: PLC0415  (imported on use)
    from ostler.engine.steps.gates.reported_run import run_on_commit  # noqa: PLC0415  (imported on use)

    assert step.sha is not None
    output = gate_log_path(step, context).replace(".log", f".check-{name}.log")
    log = services.layout.task(step.task) / output
    done = await run_on_commit(
        step.sha, check.command, log, context, services, timeout_seconds=check.timeout_seconds
    )
    return evaluate_run(done.shell, done.run, output)
