"""Quality checks: commands of [gates.checks] that are run on the commit after a phase."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.config.settings import QualityCheck
from ostler.engine.core.step import CheckGate
from ostler.engine.steps.gates.command import evaluate_run
from ostler.engine.steps.gates.reported_run import run_on_commit
from ostler.engine.steps.gates.result import GateResult, gate_log_path
from ostler.engine.steps.services import StepServices, TaskContext

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
            continue
        reason = f"check {name}: {checked.reason}"
        if check.on_failure == "block":
            return replace(checked, reason=reason, warnings=result.warnings)
        result = replace(result, warnings=(*result.warnings, reason))
    return result


def list_checks(step: CheckGate, context: TaskContext, services: StepServices) -> dict[str, QualityCheck]:
    """Return the checks after this phase; none if they have run before a person was asked to decide."""
    if services.repository is None or step.sha is None or context.state.review_requested:
        return {}
    checks, plan = services.settings.gates.checks, context.state.plan
    # The checks after a phase that the task lacks run after its last one.
    others = step.phase == plan.phases[-1].id
    return {
        name: check
        for name, check in checks.items()
        if (check.phase == step.phase or (others and plan.index(check.phase) is None))
        and check.on_failure != "skip"
    }


async def _run_check(
    step: CheckGate, name: str, check: QualityCheck, context: TaskContext, services: StepServices
) -> GateResult:
    assert step.sha is not None
    output = gate_log_path(step, context).replace(".log", f".check-{name}.log")
    log = services.layout.task(step.task) / output
    done = await run_on_commit(
        step.sha, check.command, log, context, services, timeout_seconds=check.timeout_seconds
    )
    return evaluate_run(done.shell, done.run, output)
