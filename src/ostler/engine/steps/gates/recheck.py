"""Runs a passed gate once more with the checks of the base, and reports what the work weakened."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.thread import run_in_thread
from ostler.engine.steps.gates.control import PassedGate
from ostler.engine.steps.gates.disabled import Suspicion, find_disabled_tests
from ostler.engine.steps.gates.reported_run import run_on_commit
from ostler.engine.steps.gates.reports import TestResults
from ostler.engine.steps.gates.result import GateResult
from ostler.engine.steps.gates.weakened import (
    ChangedChecks,
    compare_results,
    compare_with_base_commit,
    describe_exit,
)
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.shell import describe_failure, read_end
from ostler.errors import CODES, Origin, OstlerError, WarningCode
from ostler.files.atomic import remake_private_dir, write_atomic
from ostler.git.commit.variant import commit_variant
from ostler.secrets.redact import redact_bytes
from ostler.views.gate_check import shorten_weakened

_OUTPUT_BYTES = 200_000
_RECORDED = 500  # lines in the record; the file has all


class Recheck(Struct, frozen=True):
    """A passed gate, the checks that the task changed, and the results of its tests."""

    gate: PassedGate
    changed: ChangedChecks
    results: TestResults
    base: str


async def add_weakened_checks(
    result: GateResult, recheck: Recheck, context: TaskContext, services: StepServices
) -> GateResult:
    """Return the result with a warning for weakened checks; a person decides unless the task allows it."""
    lines = await _find_differences(recheck, context, services)
    if not lines:
        return result
    changed = recheck.changed
    names = sorted({*changed.files, *changed.suspects, *changed.sources})
    files = "\n".join(f"  {name}" for name in names)
    text = "\n".join((*lines, "", "Files that the task changed:", files, ""))
    path = recheck.gate.log.with_suffix(".weakened.txt")
    await run_in_thread(remake_private_dir, path.parent, services.layout.state)
    await run_in_thread(write_atomic, path, redact_bytes(text.encode("utf-8", "replace")))
    reason = _describe(lines, path.name)
    assert result.check is not None
    warned = replace(
        result,
        reason=f"{result.reason}; {reason}",
        warnings=(*result.warnings, WarningCode.CHECKS_WEAKENED),
        check=replace(result.check, weakened=tuple(lines[:_RECORDED])),
    )
    allowed = context.task.allow_test_changes or services.settings.gates.allow_test_changes
    return warned if allowed else replace(warned, review=f"{result.review}; {reason}".removeprefix("; "))


async def _find_differences(recheck: Recheck, context: TaskContext, services: StepServices) -> list[str]:
    gate, changed, repository = recheck.gate, recheck.changed, services.repository
    assert repository is not None
    commit = await run_in_thread(commit_variant, repository, gate.commit, changed.files)
    try:
        lines = await _compare_with_base(recheck, commit, context, services) if changed.files else []
        if not lines and changed.sources:
            lines = await _compare_tests_in_sources(recheck, context, services)
        if lines or not changed.suspects:
            return lines
        suspicion = Suspicion(gate.command, recheck.base, commit, changed.suspects, gate.log)
        return await find_disabled_tests(suspicion, context, services)
    except OstlerError as error:
        if CODES[error.code].origin is Origin.HOST:
            raise
        return [f"the command could not be run with the checks of the base: {error.message}"]


async def _compare_with_base(
    recheck: Recheck, commit: str, context: TaskContext, services: StepServices
) -> list[str]:
    gate = recheck.gate
    log = gate.log.with_suffix(".base.log")
    done = await run_on_commit(commit, gate.command, log, context, services, report=True)
    if done.run.blocked:
        return [f"the command could not be run with the checks of the base: {done.run.blocked}"]
    message = describe_failure(done.shell, done.run.exit)
    output = read_end(log, _OUTPUT_BYTES)
    return [
        *compare_results(recheck.results, done.results),
        *describe_exit(done.run.exit, done.results, message, output),
    ]


async def _compare_tests_in_sources(
    recheck: Recheck, context: TaskContext, services: StepServices
) -> list[str]:
    """Run the command on the base itself: tests in source files cannot be separated from the work."""
    log = recheck.gate.log.with_suffix(".base-commit.log")
    done = await run_on_commit(recheck.base, recheck.gate.command, log, context, services, report=True)
    if done.run.blocked:
        return [f"the command could not be run on the base: {done.run.blocked}"]
    return compare_with_base_commit(recheck.results, done.results)


def _describe(lines: list[str], file: str) -> str:
    return f"the work weakens its checks: {shorten_weakened(lines)} (list: gates/{file})"
