"""Runs git commands that only read objects, independent of the checkout and its attributes."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.git.repository import Repository
from ostler.git.run.command import run_git, run_git_bounded
from ostler.process.tool import BoundedOutput, ToolResult

LONGEST_DIFFED = 16 * 1024 * 1024
"""A larger file is compared as a binary one."""
# An agent can write .gitattributes: "-diff" there would hide changes. The index may have that file too.
_ENVIRONMENT = {"GIT_INDEX_FILE": "/nonexistent/index", "GIT_LITERAL_PATHSPECS": "1"}
_SETTINGS = {
    "core.bigFileThreshold": str(LONGEST_DIFFED),
    "core.quotePath": "false",  # names in other scripts stay readable
    "diff.renameLimit": "2000",
}
_SECONDS = 60.0


def read_objects(repository: Repository, *args: str, stdin: bytes = b"") -> bytes:
    """Return the output of a git command that reads objects."""
    return run_on_objects(repository, *args, stdin=stdin).stdout


def run_on_objects(
    repository: Repository, *args: str, stdin: bytes = b"", accept: tuple[int, ...] = (0,)
) -> ToolResult:
    """Run a git command that uses objects alone."""
    return run_git(
        _without_checkout(repository),
        *args,
        stdin=stdin,
        env=_ENVIRONMENT,
        settings=_SETTINGS,
        accept=accept,
        timeout_seconds=_SECONDS,
    )


def read_bounded(repository: Repository, limit: int, *args: str) -> BoundedOutput:
    """Return at most this many bytes of the output of a git command that reads objects."""
    return run_git_bounded(_without_checkout(repository), limit, *args, env=_ENVIRONMENT, settings=_SETTINGS)


def _without_checkout(repository: Repository) -> Repository:
    return replace(repository, work_tree=repository.common_dir, git_dir=repository.common_dir)
