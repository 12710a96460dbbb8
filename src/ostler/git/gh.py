"""Runs the GitHub CLI: away from any repository, as the user; its complaints become one sentence."""

from __future__ import annotations

import os
import re
from tempfile import TemporaryDirectory

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.program import search_path
from ostler.git.transport import LOGIN
from ostler.process.environment import child_environment
from ostler.process.tool import Finished, ToolTimeout, run_tool

PATIENCE_SECONDS = 120.0
_UNATTENDED = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_NO_EXTENSION_UPDATE_NOTIFIER": "1",
    "GH_SPINNER_DISABLED": "1",
    "GH_TELEMETRY": "false",
    "GH_PAGER": "cat",
    "NO_COLOR": "1",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
_LATER = "the work is kept; try again later"


class GhError(GitError):
    """The GitHub CLI refused; `said` is its own complaint."""

    def __init__(self, message: str, hint: str, said: str = "") -> None:
        super().__init__(Code.PUBLISH_FAILED, message, hint)
        self.said = said


class _Complaint(Struct, frozen=True):
    says: str
    sentence: str  # {line} is filled in
    hint: str


_COMPLAINTS = (
    _Complaint(
        r"gh auth login|HTTP 401|bad credentials|GH_TOKEN environment",
        "GitHub does not know who you are: {line}",
        "gh auth login",
    ),
    _Complaint(r"rate limit|HTTP 429|abuse detection", "GitHub asks to slow down: {line}", _LATER),
    _Complaint(
        r"HTTP 403|not accessible by|must have .* access|does not have the correct permissions",
        "your GitHub login may not do this: {line}",
        "gh auth status shows what it may do; gh auth refresh -s repo adds the right",
    ),
    _Complaint(
        r"could not resolve to a repository|HTTP 404",
        "GitHub has no such repository, or hides it from your login: {line}",
        "gh auth status shows who you are",
    ),
    _Complaint(
        r"could not add label|label.* not found",
        "the repository has no such label: {line}",
        "gh label create <name>, or take it out of git.labels",
    ),
    _Complaint(
        r"HTTP 5\d\d|50\d (bad gateway|service)|dial tcp|proxyconnect|timeout|connection re|no such host|EOF",
        "GitHub could not be reached: {line}",
        _LATER,
    ),
)


def run_gh(*args: str, stdin: bytes = b"") -> str:
    """What gh prints on stdout; raises GhError with its complaint otherwise."""
    try:
        finished = _start(args, stdin)
    except FileNotFoundError as missing:
        hint = "install it from https://cli.github.com, then: gh auth login"
        raise GhError("the GitHub CLI, gh, is not installed, or not on PATH", hint) from missing
    except OSError as refused:
        raise GhError(
            f"gh could not be started: {refused.strerror}", "raise the limits with ulimit"
        ) from refused
    except ToolTimeout as slow:
        raise GhError(f"GitHub did not answer gh within {PATIENCE_SECONDS:g} s", _LATER) from slow
    if finished.status != 0:
        raise explain_gh(finished.stderr.decode(errors="replace"))
    return finished.stdout.decode(errors="replace")


def explain_gh(stderr: str) -> GhError:
    """The error for what gh said."""
    line = _telling_line(stderr)
    for complaint in _COMPLAINTS:
        if re.search(complaint.says, stderr, re.IGNORECASE):
            return GhError(complaint.sentence.format(line=line), complaint.hint, stderr)
    return GhError(f"gh refused: {line or 'it said nothing'}", _LATER, stderr)


def _start(args: tuple[str, ...], stdin: bytes) -> Finished:
    # Not in a worktree: gh runs git wherever it is, and git would run what an agent configured there.
    with TemporaryDirectory(prefix="ostler-gh-", ignore_cleanup_errors=True) as directory:
        env = {
            **child_environment(os.environ, LOGIN, _UNATTENDED),
            "PATH": search_path(),
            "GIT_CEILING_DIRECTORIES": directory,
        }
        argv = ["gh", *args]
        return run_tool(argv, env=env, cwd=directory, stdin=stdin, timeout_seconds=PATIENCE_SECONDS)


def _telling_line(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    marked = [line for line in lines if re.search(r"HTTP \d|GraphQL|failed|could not", line)]
    return next(iter(marked or lines), "")
