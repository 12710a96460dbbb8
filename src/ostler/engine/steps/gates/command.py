"""The command gate: runs a command in a clean checkout of the commit."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.engine.core.step import CheckGate
from ostler.engine.steps.gates.isolated import IsolatedRun, run_isolated
from ostler.engine.steps.gates.result import GateResult, gate_log_path
from ostler.engine.steps.gates.signature import compute_signature
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.checkout import check_out_commit
from ostler.engine.steps.workspaces.shell import ShellCommand, describe_failure, read_end
from ostler.model.state import GateCheck

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
    async with check_out_commit(step.sha, log.with_suffix(".setup.log"), context, services) as directory:
        shell = ShellCommand(step.gate.command, directory, log, services.settings.gates.timeout_seconds)
        run = await run_isolated(shell, context, services)
    check = GateCheck(step.gate.command, run.isolation, run.links)
    return replace(_evaluate_run(shell, run, name), check=check)


def _evaluate_run(shell: ShellCommand, run: IsolatedRun, name: str) -> GateResult:
    ended = run.exit
    if run.blocked:
        return GateResult("could_not_run", run.blocked, name)
    if ended.status == 0 and ended.stopped is None:
        return GateResult("pass", f"`{shell.command}` succeeded", name)
    reason = describe_failure(shell, ended)
    if ended.stopped or ended.oom_killed or ended.status in _NOT_FOUND:
        return GateResult("could_not_run", reason, name)
    output = read_end(shell.log, _OUTPUT_BYTES)
    return GateResult("fail", reason, name, output, compute_signature(f"exit {ended.status}\n{output}"))
