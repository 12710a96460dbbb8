"""Runs the command of a gate on a commit, and reads the results of its tests."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.thread import run_in_thread
from ostler.engine.steps.gates.isolated import IsolatedRun, run_isolated
from ostler.engine.steps.gates.reports import TestResults, read_results, report_tests
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.checkout import check_out_commit
from ostler.engine.steps.workspaces.shell import ShellCommand, read_end

_REPORT = Path(".git") / "ostler-tests.xml"  # git never lists it
_REFUSED = "--junitxml"  # in the message of a pytest whose report is switched off
_LAST_BYTES = 4096


class ReportedRun(Struct, frozen=True):
    """A run of a gate's command; the results are empty unless a report was requested."""

    shell: ShellCommand
    run: IsolatedRun
    results: TestResults


async def run_on_commit(
    commit: str,
    command: str,
    log: Path,
    context: TaskContext,
    services: StepServices,
    *,
    report: bool = False,
    timeout_seconds: float | None = None,
) -> ReportedRun:
    """Check out the commit and run the command in it; with `report`, pytest reports each test.

    The timeout is that of [gates] unless it is given. A command that something else killed, such as the
    kernel when memory is short, runs once more.
    """
    limit = timeout_seconds or services.settings.gates.timeout_seconds
    done = await _run_once(commit, command, log, limit, context, services, report)
    if done.run.exit.was_killed and not done.run.blocked:
        done = await _run_once(commit, command, log, limit, context, services, report)
    return done


async def _run_once(
    commit: str,
    command: str,
    log: Path,
    limit: float,
    context: TaskContext,
    services: StepServices,
    report: bool,
) -> ReportedRun:
    async with check_out_commit(commit, log.with_suffix(".setup.log"), context, services) as directory:
        plain = ShellCommand(command, directory, log, limit)
        if not report:
            return ReportedRun(plain, await run_isolated(plain, context, services), TestResults({}))
        place = _find_report(services)
        reporting = replace(plain, command=report_tests(command, place), shown=command)
        run = await run_isolated(reporting, context, services)
        if run.exit.status and _REFUSED in read_end(log, _LAST_BYTES):
            # The request for a report must not change the verdict.
            run = await run_isolated(plain, context, services)
        results = await run_in_thread(read_results, directory / place, log)
        return ReportedRun(reporting, run, results)


def _find_report(services: StepServices) -> str:
    """Return the path of the report, relative to the directory of the command."""
    repository = services.repository
    depth = len(Path(repository.prefix).parts) if repository is not None else 0
    return str(Path(*[".."] * depth, _REPORT))
