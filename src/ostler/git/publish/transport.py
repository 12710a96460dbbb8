"""Runs git commands on a remote with the user's settings and none of the repository's.

An agent can write the repository's configuration, including URLs, helpers and hooks. So git runs in a
temporary directory that only refers to the repository's objects. The user's settings apply (credentials,
insteadOf, ssh); from the repository only the URL of the remote is used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.publish.remote import Remote, strip_login
from ostler.git.repository import Repository
from ostler.git.run.command import query_git
from ostler.git.run.program import GitTimeout, execute_git, settings_environment, user_environment
from ostler.git.run.safe_config import FIXED_SETTINGS
from ostler.process.environment import build_child_environment
from ostler.process.tool import ToolResult

REMOTE_TIMEOUT_SECONDS = 900.0
LOGIN_VARIABLES = (
    *(
        "GH_TOKEN",
        "GITHUB_TOKEN",
        "GH_ENTERPRISE_TOKEN",
        "GITHUB_ENTERPRISE_TOKEN",
        "GH_HOST",
        "GH_CONFIG_DIR",
    ),
    "DBUS_SESSION_BUS_ADDRESS",  # for the keyring
)
_USER_SETTINGS = ("core.sshCommand", "core.gitProxy", "credential.helper")
_UNATTENDED = {
    "core.askPass": "",
    "http.lowSpeedLimit": "1",
    "http.lowSpeedTime": "120",
    "push.gpgSign": "false",
    "push.followTags": "false",
    "push.recurseSubmodules": "no",
    "fetch.writeCommitGraph": "false",
}
_SETTINGS = {
    name: value for name, value in FIXED_SETTINGS.items() if name not in _USER_SETTINGS
} | _UNATTENDED
_PROTOCOLS = "file:git:http:https:ssh"
_TRANSPORT_VARIABLES = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_*")
_RETRY_HINT = "the branch is kept here; try again later"


class RemoteFailure(GitError):
    """The remote could not be reached or did not do what was asked; the same command may succeed later."""


def run_remote_command(
    repository: Repository,
    remote: Remote,
    *args: str,
    known_commits: tuple[str, ...] = (),
    accept: tuple[int, ...] = (0,),
    timeout_seconds: float = REMOTE_TIMEOUT_SECONDS,
) -> ToolResult:
    """Run fetch, push or ls-remote. `known_commits` reduce the transfer: both sides may have them."""
    _require_outside_project(repository, remote)
    finished = _execute_remote_command(repository, remote, args, known_commits, timeout_seconds)
    if finished.status not in accept:
        raise classify_remote_failure(remote.name, finished.stderr)
    return finished


def resolve_remote_url(repository: Repository, remote: Remote) -> str:
    """Return the URL that git pushes to, after the user's insteadOf."""
    args = ("ls-remote", "--get-url", remote.name)
    return os.fsdecode(_execute_remote_command(repository, remote, args, ()).stdout).removesuffix("\n")


def _require_outside_project(repository: Repository, remote: Remote) -> None:
    """Raise for a remote inside the project: an agent may have created it, and its hooks would run here."""
    for path in (_local_path(repository, url) for url in (remote.url, remote.push_url) if url):
        if path is not None and any(path.is_relative_to(root) for root in _list_project_roots(repository)):
            message = f"the remote {remote.name} is inside the project, at {path}, where an agent can write"
            hint = f"run git remote set-url {remote.name} <url>"
            raise GitError(Code.PUBLISH_FAILED, message, hint)


def _execute_remote_command(
    repository: Repository,
    remote: Remote,
    args: tuple[str, ...],
    known_commits: tuple[str, ...],
    timeout_seconds: float = REMOTE_TIMEOUT_SECONDS,
) -> ToolResult:
    with _temporary_git_dir(repository, remote, known_commits) as git_dir:
        env = _environment(repository) | {"GIT_DIR": str(git_dir)}
        try:
            # No lock is passed on: a credential daemon that git starts would hold it.
            return execute_git(args, env, _find_main_checkout(repository), timeout_seconds=timeout_seconds)
        except GitTimeout as timeout:
            message = f"{remote.name} did not answer within {timeout_seconds:g} s"
            raise RemoteFailure(Code.PUBLISH_FAILED, message, _RETRY_HINT) from timeout


@contextmanager
def _temporary_git_dir(
    repository: Repository, remote: Remote, known_commits: tuple[str, ...]
) -> Generator[Path]:
    """Yield a new git directory that only shares the repository's objects."""
    with TemporaryDirectory(prefix="ostler-remote-", ignore_cleanup_errors=True) as directory:
        git_dir = Path(directory)
        (git_dir / "refs").mkdir()
        (git_dir / "HEAD").write_text("ref: refs/heads/none\n")
        (git_dir / "config").write_text(_format_config(repository, remote), errors="surrogateescape")
        lines = (f"{commit} refs/heads/{number}\n" for number, commit in enumerate(known_commits))
        (git_dir / "packed-refs").write_text("".join(lines))
        shallow = repository.common_dir / "shallow"
        if shallow.is_file():
            (git_dir / "shallow").write_bytes(shallow.read_bytes())
        yield git_dir


def _format_config(repository: Repository, remote: Remote) -> str:
    core = ("[core]", "repositoryformatversion = 1", "bare = true")
    extensions = (
        "[extensions]",
        f"objectFormat = {query_git(repository, 'rev-parse', '--show-object-format')}",
    )
    address = (f"[remote {_quote(remote.name)}]", f"url = {_quote(remote.url)}")
    push = (f"pushurl = {_quote(remote.push_url)}",) if remote.push_url else ()
    return "\n".join((*core, *extensions, *address, *push)) + "\n"


def _quote(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _environment(repository: Repository) -> dict[str, str]:
    ssh_agent = {"SSH_AUTH_SOCK": os.environ["SSH_AUTH_SOCK"]} if "SSH_AUTH_SOCK" in os.environ else {}
    return {
        **build_child_environment(os.environ, (*LOGIN_VARIABLES, *_TRANSPORT_VARIABLES), ssh_agent),
        **user_environment(),
        **settings_environment(_SETTINGS),
        "GIT_OBJECT_DIRECTORY": str(repository.common_dir / "objects"),
        "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
        "GIT_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
    }


def _find_main_checkout(repository: Repository) -> Path:
    """Return the main checkout, to which relative URLs refer."""
    common = repository.common_dir
    return common.parent if common.name == ".git" else common


def _list_project_roots(repository: Repository) -> tuple[Path, ...]:
    return tuple(
        root.resolve()
        for root in (_find_main_checkout(repository), repository.common_dir, repository.work_tree)
    )


def _local_path(repository: Repository, url: str) -> Path | None:
    """Return the path of a URL on this machine, or None for a remote one."""
    if url.startswith("file://"):
        return Path(url.removeprefix("file://")).resolve()
    before_slash = url.partition("/")[0]
    if "://" in url or ":" in before_slash:
        return None
    return (_find_main_checkout(repository) / url).resolve()


class _RemoteErrorPattern(Struct, frozen=True):
    regex: str
    message: str  # {remote} and {line} are replaced
    hint: str


_REMOTE_ERROR_PATTERNS = (
    _RemoteErrorPattern(
        r"authentication failed|could not read (username|password)|permission denied|access denied"
        r"|host key verification failed|permission to .* denied|returned error: 40[13]|not authorized",
        "{remote} did not accept your login: {line}",
        "log in so that git ls-remote {remote} works without a prompt",
    ),
    _RemoteErrorPattern(
        r"repository .*not found|does not appear to be a git repository|returned error: 404"
        r"|not a git repository",
        "{remote} does not exist or you cannot access it: {line}",
        "check its URL with git remote -v",
    ),
    _RemoteErrorPattern(
        r"could not resolve|unable to access|connection (refused|timed out|reset|closed)|unreachable"
        r"|early eof|hung up|rpc failed|unexpected disconnect|no route to host|operation too slow",
        "{remote} could not be reached: {line}",
        _RETRY_HINT,
    ),
    _RemoteErrorPattern(
        r"transport '.*' not allowed",
        "{remote} has a URL of an unsupported kind: {line}",
        "use https, ssh, git or a path",
    ),
    _RemoteErrorPattern(
        r"no space left|disk quota", "a disk is full, here or at {remote}: {line}", "make room"
    ),
)


def classify_remote_failure(remote: str, stderr: bytes) -> RemoteFailure:
    """Return the error for a failed fetch, push or ls-remote."""
    text = strip_login(os.fsdecode(stderr))
    line = find_remote_error_line(text)
    for pattern in _REMOTE_ERROR_PATTERNS:
        if re.search(pattern.regex, text, re.IGNORECASE):
            fields = {"remote": remote, "line": line}
            return RemoteFailure(
                Code.PUBLISH_FAILED, pattern.message.format(**fields), pattern.hint.format(**fields)
            )
    return RemoteFailure(Code.PUBLISH_FAILED, f"{remote} failed: {line or 'no output'}", _RETRY_HINT)


def find_remote_error_line(text: str) -> str:
    """Return the most relevant line: an error of the remote, else of git, else the first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    remote_lines = [line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")]
    errors = [line for line in remote_lines if re.match(r"(error|fatal)\b", line, re.IGNORECASE)]
    marked = [line for line in lines if line.startswith(("fatal:", "error:"))]
    first = next((line for line in (*errors, *remote_lines, *marked, *lines) if line), "")
    return re.sub(r"^(error|fatal):\s*", "", first, flags=re.IGNORECASE)
