"""CheckGate: checks the result of a phase on its commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from msgspec.structs import replace

from ostler.calls.thread import run_in_thread
from ostler.engine.core.moves import apply_gate_decided, find_retry_phase
from ostler.engine.core.step import CheckGate
from ostler.engine.core.verdicts import find_gate, has_live_rules
from ostler.engine.steps.gates.guarded_files import list_guarded_files
from ostler.engine.steps.gates.live import pass_without_check, use_live_gate
from ostler.engine.steps.gates.no_changes import describe_no_changes
from ostler.engine.steps.gates.quality import add_quality_checks, list_checks, name_checks
from ostler.engine.steps.gates.result import GateResult, find_cause
from ostler.engine.steps.gates.signature import compute_signature
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.errors import CODES, Code, Origin, OstlerError
from ostler.files.atomic import remake_private_dir, write_atomic
from ostler.files.failpoint import reach
from ostler.git.commit.diff import read_diff_stat
from ostler.model.event import GateDecided, GateWaiting
from ostler.model.notice import Notice, PhaseFailed, PhaseRetried
from ostler.model.plan import GateType
from ostler.model.state import Stage
from ostler.prompt.retry import format_retry_file, make_retry_file_name
from ostler.secrets.redact import redact_bytes

if TYPE_CHECKING:
    from ostler.engine.steps.gates.review import ReviewOutcome


async def check_gate(step: CheckGate, context: TaskContext, services: StepServices) -> StepResult:
    """Return the verdict of the gate; a human gate only records that it waits."""
    step = await run_in_thread(use_live_gate, step, context, services)
    checks = list_checks(step, context, services)
    if has_live_rules(context.state) and not checks:
        passed = pass_without_check(step, context, services)
        if passed is not None:
            return StepResult(passed)
    if step.gate.type == "human" and not step.gate.command and not checks:
        return StepResult(await run_in_thread(_ask_person, step, context, services))
    reach("gate.check")
    try:
        result = await _run_gate(step, context, services)
    except OstlerError as error:
        if CODES[error.code].origin is Origin.HOST:
            raise
        result = GateResult("could_not_run", f"{error.code}: {error.message}", cause=find_cause(error))
    if not isinstance(result, GateResult):
        return StepResult(result)
    result = replace(result, checks=name_checks(checks))
    if step.gate.type == "human" and result.verdict == "pass" and not result.review:
        return StepResult(await run_in_thread(_ask_person, step, context, services, result))
    if (kept := _keep_approval(step, result, context)) is not None:
        return StepResult(kept)
    step_result = await run_in_thread(_build_result, step, result, context, services)
    reach("gate.checked")
    return step_result


async def _run_gate(step: CheckGate, context: TaskContext, services: StepServices) -> ReviewOutcome:
    """Run the command of the gate, then its other check, then the quality checks of the phase."""
    result = GateResult("pass")
    if step.gate.command or step.gate.type == "command":
        from ostler.engine.steps.gates.command import run_command_gate  # noqa: PLC0415  (imported on use)

        result = await run_command_gate(step, context, services)
    if step.gate.type not in ("command", "human") and result.verdict == "pass" and not result.review:
        other = await _run_other_check(step, context, services)
        if not isinstance(other, GateResult):
            return other
        warnings = (*result.warnings, *other.warnings)
        details = result.warning_details
        result = replace(other, check=result.check, warnings=warnings, warning_details=details)
    return await add_quality_checks(step, result, context, services)


async def _run_other_check(step: CheckGate, context: TaskContext, services: StepServices) -> ReviewOutcome:
    match step.gate.type:
        case "skip":
            return GateResult("skipped")
        case "auto":
            return _check_criteria(step, _read_phase_answer(step, context, services))
        case "ai":
            from ostler.engine.steps.gates.review import review_commit  # noqa: PLC0415  (imported on use)

            return await review_commit(step, _read_phase_answer(step, context, services), context, services)
        case "command" | "human":
            raise AssertionError(f"{step.gate.type} gates are handled by the callers")
        case _:
            assert_never(step.gate.type)


def _check_criteria(step: CheckGate, text: str) -> GateResult:
    from ostler.engine.steps.gates.criteria import list_unmet_criteria  # noqa: PLC0415  (imported on use)

    missing = list_unmet_criteria(step.gate.criteria, text, step.phase)
    if not missing:
        return GateResult("pass", "; ".join(step.gate.criteria))
    return GateResult(
        "fail", "; ".join(missing), retry_text=text, signature=compute_signature("\n".join(missing))
    )


def _read_phase_answer(step: CheckGate, context: TaskContext, services: StepServices) -> str:
    """Return the last answer of the phase; empty if there is none."""
    state = context.state
    rechecks = state.recheck_phases or state.stage is Stage.FINAL
    answer = _find_earlier_answer(step, services) if rechecks else state.answer
    try:
        path = services.layout.task(context.state.task) / answer
        return path.read_text("utf-8", "replace") if answer else ""
    except FileNotFoundError:
        return ""


def _find_earlier_answer(step: CheckGate, services: StepServices) -> str:
    """Return the path of the answer of an earlier phase whose gate checks a new commit."""
    own = (
        a for a in services.journal.attempts(step.task) if a.phase == step.phase and a.status == "succeeded"
    )
    return next((f"{a.transcript.removesuffix('.jsonl')}.answer.md" for a in reversed([*own])), "")


def _build_result(
    step: CheckGate, result: GateResult, context: TaskContext, services: StepServices
) -> StepResult:
    event = GateDecided(
        phase=step.phase,
        gate=_name_type(step, result),
        verdict=result.verdict,
        reason=result.reason,
        sha=step.sha,
        output=result.output,
        signature=result.signature,
        check=result.check,
        warnings=result.warnings,
        warning_details=result.warning_details,
        review=result.review,
        cause=result.cause,
        checks=result.checks,
        criteria=step.gate.criteria,
    )
    if result.verdict in ("pass", "skipped", "not_checked") or result.review:
        return StepResult(event)
    after = apply_gate_decided(context.state, event)
    if after.ending is not None:
        return StepResult(
            event, (PhaseFailed(step.phase, after.ending.code or Code.UNKNOWN, after.ending.message),)
        )
    if after.review_requested:
        # A person decides next.
        return StepResult(event)
    return StepResult(event, (_write_retry_context(step, result, context, services),))


def _keep_approval(step: CheckGate, result: GateResult, context: TaskContext) -> GateDecided | None:
    """Return a person's approval of a gate that cannot fail, for a new commit on which its command passes."""
    before = find_gate(context.state, step.phase)
    if before is None or before.verdict != "overruled" or before.original != "not_checked":
        return None
    if result.verdict != "not_checked" or result.check is None or before.check is None:
        return None
    accepted = set(result.check.weakened) <= set(before.check.weakened)
    if before.check.command != result.check.command or not accepted:
        return None
    decided = GateDecided(step.phase, _name_type(step, result), "overruled", before.reason, step.sha)
    decided = replace(decided, check=result.check, warnings=result.warnings, checks=result.checks)
    decided = replace(decided, warning_details=result.warning_details)
    return replace(decided, output=result.output, by=before.by, original="not_checked")


def _name_type(step: CheckGate, result: GateResult) -> GateType:
    """Return the type of the check that decided: the command of a human gate decides when it fails."""
    return "command" if step.gate.type == "human" and result.verdict != "pass" else step.gate.type


def _write_retry_context(
    step: CheckGate, result: GateResult, context: TaskContext, services: StepServices
) -> Notice:
    """Write the reason for the next call, before the notice that names its file."""
    state = context.state
    failed, target = state.phases[state.phase], state.plan.phases[find_retry_phase(state)].id
    attempt = failed.returns + 1
    name = make_retry_file_name(failed.id, attempt)
    text = format_retry_file(
        step.phase, target, attempt, services.clock.now(), result.reason, result.retry_text
    )
    remake_private_dir(services.layout.task(step.task), services.layout.state)
    write_atomic(services.layout.task(step.task) / name, redact_bytes(text.encode("utf-8", "replace")))
    return PhaseRetried(step.phase, target, attempt, name)


def _ask_person(
    step: CheckGate, context: TaskContext, services: StepServices, passed: GateResult | None = None
) -> GateWaiting | GateDecided:
    """Ask a person, unless one approved this gate and only its command had to be repeated."""
    check = passed.check if passed else None
    before = find_gate(context.state, step.phase)
    guarded = list_guarded_files(context.state, services)
    approved = before is not None and before.by_person and before.verdict == "pass"
    if passed and before and approved and (before.is_approved_by_person or not guarded):
        decided = GateDecided(step.phase, "human", "pass", before.reason, step.sha, check=check, by=before.by)
        decided = replace(decided, warning_details=passed.warning_details)
        return replace(decided, checks=passed.checks, warnings=passed.warnings)
    criteria = f"; criteria: {'; '.join(step.gate.criteria)}" if step.gate.criteria else ""
    what = context.state.output or f"{step.phase}{_describe_change(step, context, services)}"
    notes = [one for one in (passed.reason, *passed.warnings) if one] if passed else []
    notes += [f"it changes {', '.join(guarded)}"] if guarded else []
    request = describe_no_changes(context, services) or _describe_request(step, context)
    reason = "; ".join((f"{request} {what}{criteria}", *notes))
    waiting = GateWaiting(step.phase, step.sha, reason, check=check, guarded=guarded)
    return replace(waiting, checks=passed.checks, warnings=passed.warnings) if passed else waiting


def _describe_request(step: CheckGate, context: TaskContext) -> str:
    gate = find_gate(context.state, step.phase)
    if context.state.review_requested and gate is not None and gate.verdict == "fail":
        return f"the reviewer still rejects it ({gate.reason}); please decide on"
    if context.state.review_requested and gate is not None and gate.verdict in ("pass", "not_checked"):
        return f"{gate.reason}; please decide on"
    return "the agent requests a review of" if context.state.review_requested else "please review"


def _describe_change(step: CheckGate, context: TaskContext, services: StepServices) -> str:
    """Return the commit and the size of the change, if git can compute it."""
    if step.sha is None:
        return ""
    if services.repository is None or context.state.base is None:
        return f" ({step.sha[:10]})"
    try:
        size = read_diff_stat(services.repository, context.state.base, step.sha)
    except OstlerError:
        return f" ({step.sha[:10]})"
    files = "1 file" if size.files == 1 else f"{size.files} files"
    return f" ({step.sha[:10]}: {files}, +{size.insertions} -{size.deletions})"
