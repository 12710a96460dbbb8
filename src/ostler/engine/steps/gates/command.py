"""The command gate: runs a command in a clean checkout of the commit."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ostler.calls.thread import run_in_thread
from ostler.engine.core.step import CheckGate
from ostler.engine.steps.gates.control import PassedGate, find_control
from ostler.engine.steps.gates.file_kinds import split_commands, split_words
from ostler.engine.steps.gates.isolated import IsolatedRun
from ostler.engine.steps.gates.recheck import Recheck, add_weakened_checks
from ostler.engine.steps.gates.reported_run import run_on_commit
from ostler.engine.steps.gates.result import GateResult, gate_log_path
from ostler.engine.steps.gates.signature import compute_signature
from ostler.engine.steps.gates.weakened import ChangedChecks, find_changed_checks
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.sandboxed_shell import describe_refusals
from ostler.engine.steps.workspaces.shell import ShellCommand, describe_failure, read_end
from ostler.errors import WarningCode
from ostler.model.command import Exit, StopReason
from ostler.model.plan import MERGE
from ostler.model.policy.sandbox import describe_refusal
from ostler.model.state import GateCheck, GateObstacle
from ostler.model.warning import WarningDetail
from ostler.store.gate_controls import GateControl

_NOT_FOUND = (126, 127)  # exit codes of a shell for a command that it cannot run
_OUTPUT_BYTES = 200_000  # from the end of the output, for the retry; the log has all of it


async def run_command_gate(step: CheckGate, context: TaskContext, services: StepServices) -> GateResult:
    """Run the command and return the verdict."""
    if not step.gate.command:
        reason = f"gates.commands names no command for {step.phase}"
        return GateResult("could_not_run", reason)
    if services.repository is None or step.sha is None:
        return GateResult(
            "could_not_run", "there is no commit to check: a command gate needs a git repository"
        )
    name = gate_log_path(step, context)
    log = services.layout.task(step.task) / name
    changed = await run_in_thread(_find_changes, step, step.sha, context, services)
    began = services.clock.monotonic()
    report = changed.needs_comparison
    done = await run_on_commit(step.sha, step.gate.command, log, context, services, report=report)
    run = done.run
    check = GateCheck(step.gate.command, run.isolation, run.links, no_environment=run.no_environment)
    check = replace(check, sandbox=run.sandbox, refused=list_refused(run))
    result = replace(evaluate_run(done.shell, done.run, name), check=check)
    if result.verdict == "could_not_run" and done.run.exit.status in _NOT_FOUND and not done.run.blocked:
        result = replace(result, reason=result.reason + _suggest_link(step.gate.command, services))
    if result.verdict != "pass":
        return result
    seconds = services.clock.monotonic() - began
    typical = not changed.suspects
    gate = PassedGate(step.phase, step.gate.command, step.sha, log, done.run.isolation, seconds, typical)
    result = await _add_control(result, gate, context, services)
    if not changed.needs_comparison and not changed.suspects:
        return result
    assert context.state.base is not None
    recheck = Recheck(gate, changed, done.results, context.state.base)
    return await add_weakened_checks(result, recheck, context, services)


def evaluate_run(shell: ShellCommand, run: IsolatedRun, name: str) -> GateResult:
    """Return the verdict that the exit status means."""
    ended = run.exit
    if run.blocked:
        return GateResult("could_not_run", run.blocked, name, cause="isolation")
    if ended.status == 0 and ended.stopped is None:
        return _add_refusals(GateResult("pass", f"`{shell.title}` succeeded", name), run)
    reason = describe_failure(shell, ended)
    if cause := _find_cause(ended) or ("refused" if run.refusals else None):
        reason = "; ".join(filter(None, (reason, describe_refusals(run.refusals))))
        return GateResult("could_not_run", reason, name, cause=cause)
    output = read_end(shell.log, _OUTPUT_BYTES)
    return GateResult("fail", reason, name, output, compute_signature(f"exit {ended.status}\n{output}"))


def list_refused(run: IsolatedRun) -> tuple[str, ...]:
    """Return a line for each access that the sandbox refused."""
    return tuple(describe_refusal(one.kind, one.target, one.setting) for one in run.refusals)


def _add_refusals(result: GateResult, run: IsolatedRun) -> GateResult:
    """Add a warning: the command passed although the sandbox refused something."""
    codes = [
        WarningCode.FILE_REFUSED if one.kind == "file" else WarningCode.NETWORK_REFUSED
        for one in run.refusals
    ]
    details = [WarningDetail(code, line) for code, line in zip(codes, list_refused(run), strict=True)]
    return replace(result, warnings=tuple(dict.fromkeys(codes)), warning_details=tuple(details))


def _find_cause(ended: Exit) -> GateObstacle | None:
    """Return why a command that did not succeed has no result; None: it failed."""
    if ended.stopped in (StopReason.DISK, StopReason.MEMORY):
        return "killed"
    if ended.stopped is not None:
        return "timeout"
    if ended.oom_killed or ended.was_killed:
        return "killed"
    return "missing program" if ended.status in _NOT_FOUND else None


def _suggest_link(command: str, services: StepServices) -> str:
    """Return what to set if the command names a file of the project that no commit has, such as .venv."""
    words = [word for part in split_commands(command) for word in split_words(part)]
    named = [Path(word) for word in words if "/" in word and not word.startswith(("/", "-"))]
    found = next((one for one in named if (services.layout.root / one).exists()), None)
    if found is None:
        return ""
    return f'; {found} is not in the commit: add link = ["{found.parts[0]}"] to [workspace]'


def _find_changes(step: CheckGate, sha: str, context: TaskContext, services: StepServices) -> ChangedChecks:
    """Return the checks that the task changed; none for a gate before publishing, which runs once."""
    base = context.state.base
    if services.repository is None or step.phase == MERGE or base is None or base == sha:
        return ChangedChecks()
    return find_changed_checks(services.repository, base, sha, step.gate.command)


async def _add_control(
    result: GateResult, gate: PassedGate, context: TaskContext, services: StepServices
) -> GateResult:
    """Add the result of the control; a gate that cannot fail has checked nothing."""
    control, acceptance = await find_control(gate, context, services)
    assert result.check is not None
    result = replace(result, check=replace(result.check, control=control.describe(acceptance)))
    if not control.cannot_fail or acceptance is not None:
        return result
    review = _describe_inert(gate, control)
    warnings = (*result.warnings, WarningCode.GATE_INERT)
    return replace(result, verdict="not_checked", reason=review, review=review, warnings=warnings)


def _describe_inert(gate: PassedGate, control: GateControl) -> str:
    what = (
        "passes whatever the files contain"
        if control.result == "inert"
        else "passes with a syntax error in every source file"
    )
    return (
        f"`{gate.command}` {what}, so it does not check the work ({WarningCode.GATE_INERT}); "
        f"correct the command, or: ostler gates accept {gate.name}"
    )
