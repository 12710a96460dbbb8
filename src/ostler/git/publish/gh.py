"""Runs the GitHub CLI outside any repository and classifies its errors."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.publish.transport import LOGIN_VARIABLES
from ostler.git.run.program import search_path
from ostler.process.environment import build_child_environment
from ostler.process.tool import ToolResult, ToolTimeout, run_tool
from ostler.text import describe_os_error

TIMEOUT_SECONDS = 120.0
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
_TOKENS = ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
_RETRY_HINT = "the branch is kept; try again later"


class GhError(GitError):
    """The GitHub CLI failed; `stderr` is its output."""

    def __init__(self, message: str, hint: str, stderr: str = "") -> None:
        super().__init__(Code.PUBLISH_FAILED, message, hint)
        self.stderr = stderr


class _ErrorPattern(Struct, frozen=True):
    regex: str
    message_template: str  # {line} is replaced
    hint: str


_ERROR_PATTERNS = (
    _ErrorPattern(
        r"auto.?merge is not (allowed|enabled)",
        "the pull request is open, but the repository does not allow auto-merge: {line}",
        "allow auto-merge in its settings on GitHub, or set pull_request.auto_merge = false",
    ),
    _ErrorPattern(
        r"gh auth login|HTTP 401|bad credentials|GH_TOKEN environment",
        "GitHub rejected your login: {line}",
        "gh auth login",
    ),
    _ErrorPattern(
        r"rate limit|HTTP 429|abuse detection", "the GitHub rate limit is reached: {line}", _RETRY_HINT
    ),
    _ErrorPattern(
        r"HTTP 403|not accessible by|must have .* access|does not have the correct permissions",
        "your GitHub login has no permission: {line}",
        "check gh auth status; gh auth refresh -s repo adds the permission",
    ),
    _ErrorPattern(
        r"could not resolve to a repository|HTTP 404",
        "the repository does not exist or your GitHub login cannot see it: {line}",
        "check your login with gh auth status",
    ),
    _ErrorPattern(
        r"could not add label|label.* not found",
        "the repository does not have the label: {line}",
        "run gh label create <name>, or remove it from pull_request.labels",
    ),
    _ErrorPattern(
        r"HTTP 5\d\d|50\d (bad gateway|service)|dial tcp|proxyconnect|timeout|connection re|no such host|EOF",
        "GitHub could not be reached: {line}",
        _RETRY_HINT,
    ),
)


def run_gh(*args: str, stdin: bytes = b"") -> str:
    """Run gh and return its output. Raises GhError."""
    try:
        finished = _execute_gh(args, stdin)
    except FileNotFoundError as error:
        raise _create_missing_error() from error
    except OSError as error:
        raise GhError(
            f"gh could not be started: {describe_os_error(error)}", "raise the limits with ulimit"
        ) from error
    except ToolTimeout as error:
        raise GhError(f"GitHub did not answer gh within {TIMEOUT_SECONDS:g} s", _RETRY_HINT) from error
    if finished.status != 0:
        raise classify_gh_failure(finished.stderr.decode(errors="replace"))
    return finished.stdout.decode(errors="replace")


def require_gh() -> None:
    """Raise GhError when gh is not installed; starts nothing."""
    if shutil.which("gh", path=search_path()) is None:
        raise _create_missing_error()


def has_stored_login(environ: Mapping[str, str]) -> bool:
    """Return whether gh has a token or a stored login; starts nothing, so the login may have expired."""
    if any(environ.get(name) for name in _TOKENS):
        return True
    base = environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME", "/"), ".config")
    return Path(environ.get("GH_CONFIG_DIR") or Path(base, "gh"), "hosts.yml").is_file()


def _create_missing_error() -> GhError:
    hint = "install it from https://cli.github.com, then: gh auth login"
    return GhError("the GitHub CLI (gh) is not installed or not on PATH", hint)


def classify_gh_failure(stderr: str) -> GhError:
    """Return the error for the output of gh."""
    line = _find_error_line(stderr)
    for pattern in _ERROR_PATTERNS:
        if re.search(pattern.regex, stderr, re.IGNORECASE):
            return GhError(pattern.message_template.format(line=line), pattern.hint, stderr)
    return GhError(f"gh failed: {line or 'no output'}", _RETRY_HINT, stderr)


def _execute_gh(args: tuple[str, ...], stdin: bytes) -> ToolResult:
    # Not in a worktree: gh runs git, and git would execute what an agent configured there.
    with TemporaryDirectory(prefix="ostler-gh-", ignore_cleanup_errors=True) as directory:
        env = {
            **build_child_environment(os.environ, LOGIN_VARIABLES, _UNATTENDED),
            "PATH": search_path(),
            "GIT_CEILING_DIRECTORIES": directory,
        }
        argv = ["gh", *args]
        return run_tool(argv, env=env, cwd=directory, stdin=stdin, timeout_seconds=TIMEOUT_SECONDS)


def _find_error_line(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    marked = [line for line in lines if re.search(r"HTTP \d|GraphQL|failed|could not", line)]
    return next(iter(marked or lines), "")
