"""Detects sources that make a gate pass whatever its tests do, such as `os._exit(0)` in a module.

Only for work with suspicious files: the command runs on the commit with a failing test in every test file.
If it still passes, and fails on the base with such tests, the work has disabled the tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ostler.engine.steps.gates.file_kinds import list_named_scripts
from ostler.engine.steps.gates.plants import PLANTED, add_failing_tests
from ostler.engine.steps.gates.reported_run import run_on_commit
from ostler.engine.steps.services import StepServices, TaskContext, run_in_thread
from ostler.engine.steps.workspaces.shell import read_end
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
    """Return a line if failing tests do not fail the command because of the work."""
    if await _fails_with_plants(suspicion, suspicion.commit, "failing", context, services) is not False:
        return []
    if not await _fails_with_plants(suspicion, suspicion.base, "base-failing", context, services):
        # The command does not run these tests, with or without the work.
        return []
    more = f" and {len(suspicion.files) - _SHOWN} more" if len(suspicion.files) > _SHOWN else ""
    names = ", ".join(suspicion.files[:_SHOWN])
    return [f"failing tests do not fail the command any more; look at {names}{more}"]


async def _fails_with_plants(
    suspicion: Suspicion, commit: str, name: str, context: TaskContext, services: StepServices
) -> bool | None:
    """Return whether a planted test fails the command on the commit; None: no test can be planted."""
    assert services.repository is not None
    planted = await run_in_thread(_plant, services.repository, commit, suspicion.command)
    if planted is None:
        return None
    log = suspicion.log.with_suffix(f".{name}.log")
    done = await run_on_commit(planted, suspicion.command, log, context, services)
    passed = done.run.exit.status == 0 and done.run.exit.stopped is None and not done.run.blocked
    return not passed and (name == "failing" or PLANTED.search(read_end(log, _OUTPUT_BYTES)) is not None)


def _plant(repository: Repository, commit: str, command: str) -> str | None:
    files: Mapping[str, TreeFile] = list_tree(repository, commit)
    scripts = frozenset(list_named_scripts(command, repository.prefix, files))
    planted = add_failing_tests(repository, files, scripts, alike=True)
    return commit_variant(repository, commit, planted) if planted else None
