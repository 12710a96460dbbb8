"""Detects sources that make a gate pass whatever its tests do, such as `os._exit(0)` in a module.

Only for work with suspicious files: the command runs on the commit with a failing test in every test file.
If it still passes, and fails on the base with such tests, the work has disabled the tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ostler.calls.thread import run_in_thread
from ostler.engine.steps.gates.file_kinds import list_named_scripts
from ostler.engine.steps.gates.plants import PLANTED, add_failing_tests
from ostler.engine.steps.gates.reported_run import ReportedRun, run_on_commit
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.shell import describe_failure, read_end
from ostler.git.commit.variant import TreeFile, commit_variant, list_tree
from ostler.git.repository import Repository

_OUTPUT_BYTES = 2_000_000
_SHOWN = 3


class Suspicion(Struct, frozen=True):
    """The command of a gate, the commit that it passed on, and the files that could have caused that."""

    command: str
    base: str
    commit: str  # with the checks of the base
    files: tuple[str, ...]
    log: Path


async def find_disabled_tests(
    suspicion: Suspicion, context: TaskContext, services: StepServices
) -> list[str]:
    """Return a line if failing tests do not fail the command because of the work, or if that is not known."""
    done = await _run_with_plants(suspicion, suspicion.commit, "failing", context, services)
    if done is None or _fails(done):
        return []
    if why := _explain_no_result(done):
        return [_describe(suspicion, "not known whether failing tests fail the command", why)]
    base = await _run_with_plants(suspicion, suspicion.base, "base-failing", context, services)
    if base is not None and (why := _explain_no_result(base)):
        return [_describe(suspicion, "not known whether failing tests failed the command before", why)]
    if base is None or not _fails(base) or not PLANTED.search(read_end(base.shell.log, _OUTPUT_BYTES)):
        # The command does not run these tests, with or without the work.
        return []
    return [_describe(suspicion, "failing tests do not fail the command any more")]


def _describe(suspicion: Suspicion, finding: str, why: str = "") -> str:
    more = f" and {len(suspicion.files) - _SHOWN} more" if len(suspicion.files) > _SHOWN else ""
    files = ", ".join(suspicion.files[:_SHOWN]) + more
    return f"{finding}; look at {files}" + (f" ({why})" if why else "")


async def _run_with_plants(
    suspicion: Suspicion, commit: str, name: str, context: TaskContext, services: StepServices
) -> ReportedRun | None:
    """Run the command on the commit with a failing test in every test file; None: none can be planted."""
    assert services.repository is not None
    planted = await run_in_thread(_plant, services.repository, commit, suspicion.command)
    if planted is None:
        return None
    log = suspicion.log.with_suffix(f".{name}.log")
    return await run_on_commit(planted, suspicion.command, log, context, services)


def _fails(done: ReportedRun) -> bool:
    return done.run.exit.status != 0 and not _explain_no_result(done)


def _explain_no_result(done: ReportedRun) -> str:
    """Return why the run is neither a pass nor a failure of the command; empty: it is one of both."""
    ended = done.run.exit
    if done.run.blocked:
        return done.run.blocked
    return describe_failure(done.shell, ended) if ended.stopped is not None or ended.was_killed else ""


def _plant(repository: Repository, commit: str, command: str) -> str | None:
    files: Mapping[str, TreeFile] = list_tree(repository, commit)
    scripts = frozenset(list_named_scripts(command, repository.prefix, files))
    planted = add_failing_tests(repository, files, scripts, alike=True)
    return commit_variant(repository, commit, planted) if planted else None
