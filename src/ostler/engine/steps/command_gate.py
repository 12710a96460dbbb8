"""The command gate: what a person named must succeed on the very commit, away from everything else."""

from __future__ import annotations

from ostler.engine.core.step import CheckGate
from ostler.engine.steps.checkout import clean_checkout
from ostler.engine.steps.finding import Finding, log_of
from ostler.engine.steps.shell import Shell, read_end, run_shell, went_wrong
from ostler.engine.steps.signature import signature_of
from ostler.engine.steps.tools import Case, Tools
from ostler.model.command import Exit

_NOT_FOUND = (126, 127)  # what a shell says of a command that it cannot run
_TOLD_BYTES = 200_000  # of the output's end, for whoever does the work again; the log has all of it


async def run_command(step: CheckGate, case: Case, tools: Tools) -> Finding:
    """Pass, fail, or that it could not be found out."""
    if not step.gate.command:
        reason = f"gates.commands names no command for {step.phase}"
        return Finding("could_not_run", reason)
    if tools.repository is None or step.sha is None:
        return Finding("could_not_run", "there is no commit to check: a command gate needs a git repository")
    name = log_of(step, case)
    log = tools.layout.task(step.task) / name
    async with clean_checkout(step.sha, log.with_suffix(".setup.log"), case, tools) as directory:
        shell = Shell(step.gate.command, directory, log, tools.settings.gates.timeout_seconds)
        ended = await run_shell(shell, case, tools)
    return _judge(shell, ended, name)


def _judge(shell: Shell, ended: Exit, name: str) -> Finding:
    if ended.status == 0 and ended.stopped is None:
        return Finding("pass", f"`{shell.command}` succeeded", name)
    reason = went_wrong(shell, ended)
    if ended.stopped or ended.oom_killed or ended.status in _NOT_FOUND:
        return Finding("could_not_run", reason, name)
    told = read_end(shell.log, _TOLD_BYTES)
    return Finding("fail", reason, name, told, signature_of(f"exit {ended.status}\n{told}"))
