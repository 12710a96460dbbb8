"""The one way to talk to a remote: as the user, and from a git directory without a configuration of its own.

An agent can write the repository's configuration, and its address books, helpers and hooks with it. So git
runs in an empty directory that only borrows the repository's objects: what the user set up for themselves
counts (credentials, insteadOf, ssh), and of the repository nothing but the remote's address.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ostler.errors import Code, GitError
from ostler.git.command import ask
from ostler.git.program import GitTimeout, execute, settings_environment, users_environment
from ostler.git.remote import Remote
from ostler.git.repository import Repository
from ostler.git.shield import FIXED
from ostler.git.transport_failure import explain_remote
from ostler.process.environment import child_environment
from ostler.process.tool import Finished

PATIENCE_SECONDS = 900.0
LOGIN = (
    *(
        "GH_TOKEN",
        "GITHUB_TOKEN",
        "GH_ENTERPRISE_TOKEN",
        "GITHUB_ENTERPRISE_TOKEN",
        "GH_HOST",
        "GH_CONFIG_DIR",
    ),
    "DBUS_SESSION_BUS_ADDRESS",  # of the keyring
)
_LEFT_TO_THE_USER = ("core.sshCommand", "core.gitProxy", "credential.helper")
_UNATTENDED = {
    "core.askPass": "",
    "http.lowSpeedLimit": "1",
    "http.lowSpeedTime": "120",
    "push.gpgSign": "false",
    "push.followTags": "false",
    "push.recurseSubmodules": "no",
    "fetch.writeCommitGraph": "false",
}
_SETTINGS = {name: value for name, value in FIXED.items() if name not in _LEFT_TO_THE_USER} | _UNATTENDED
_PROTOCOLS = "file:git:http:https:ssh"
_PASSED = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_*")


def talk(
    repository: Repository,
    remote: Remote,
    *args: str,
    known: tuple[str, ...] = (),
    accept: tuple[int, ...] = (0,),
) -> Finished:
    """Run fetch, push or ls-remote. `known` are commits that both sides may have, so that little is sent."""
    _refuse_planted(repository, remote)
    finished = _execute(repository, remote, args, known)
    if finished.status not in accept:
        raise explain_remote(remote.name, finished.stderr)
    return finished


def effective_url(repository: Repository, remote: Remote) -> str:
    """The address that git would really push to, after the user's insteadOf."""
    args = ("ls-remote", "--get-url", remote.name)
    return os.fsdecode(_execute(repository, remote, args, ()).stdout).removesuffix("\n")


def _refuse_planted(repository: Repository, remote: Remote) -> None:
    """Refuse a remote inside the project: its hooks would run here, and an agent could have made it."""
    for path in (_local_path(repository, url) for url in (remote.url, remote.push_url) if url):
        if path is not None and any(path.is_relative_to(root) for root in _roots(repository)):
            message = f"the remote {remote.name} is inside the project, at {path}, where an agent can write"
            hint = f"git remote set-url {remote.name} <its real address>"
            raise GitError(Code.PUBLISH_FAILED, message, hint)


def _execute(
    repository: Repository, remote: Remote, args: tuple[str, ...], known: tuple[str, ...]
) -> Finished:
    with _borrowed(repository, remote, known) as git_dir:
        env = _environment(repository) | {"GIT_DIR": str(git_dir)}
        try:
            # No lock is passed on: a credential daemon that git starts would hold it as long as it lives.
            return execute(args, env, _home(repository), timeout_seconds=PATIENCE_SECONDS)
        except GitTimeout as slow:
            message = f"{remote.name} did not answer within {PATIENCE_SECONDS:g} s"
            raise GitError(Code.PUBLISH_FAILED, message, "the branch is kept here; try again later") from slow


@contextmanager
def _borrowed(repository: Repository, remote: Remote, known: tuple[str, ...]) -> Generator[Path]:
    """A fresh git directory with the repository's objects and nothing else of it."""
    with TemporaryDirectory(prefix="ostler-remote-", ignore_cleanup_errors=True) as directory:
        git_dir = Path(directory)
        (git_dir / "refs").mkdir()
        (git_dir / "HEAD").write_text("ref: refs/heads/none\n")
        (git_dir / "config").write_text(_configuration(repository, remote), errors="surrogateescape")
        lines = (f"{commit} refs/heads/{number}\n" for number, commit in enumerate(known))
        (git_dir / "packed-refs").write_text("".join(lines))
        shallow = repository.common_dir / "shallow"
        if shallow.is_file():
            (git_dir / "shallow").write_bytes(shallow.read_bytes())
        yield git_dir


def _configuration(repository: Repository, remote: Remote) -> str:
    core = ("[core]", "repositoryformatversion = 1", "bare = true")
    extensions = ("[extensions]", f"objectFormat = {ask(repository, 'rev-parse', '--show-object-format')}")
    address = (f"[remote {_quote(remote.name)}]", f"url = {_quote(remote.url)}")
    push = (f"pushurl = {_quote(remote.push_url)}",) if remote.push_url else ()
    return "\n".join((*core, *extensions, *address, *push)) + "\n"


def _quote(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _environment(repository: Repository) -> dict[str, str]:
    agent = {"SSH_AUTH_SOCK": os.environ["SSH_AUTH_SOCK"]} if "SSH_AUTH_SOCK" in os.environ else {}
    return {
        **child_environment(os.environ, (*LOGIN, *_PASSED), agent),
        **users_environment(),
        **settings_environment(_SETTINGS),
        "GIT_OBJECT_DIRECTORY": str(repository.common_dir / "objects"),
        "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
        "GIT_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
    }


def _home(repository: Repository) -> Path:
    """Where a relative address starts: the main checkout."""
    common = repository.common_dir
    return common.parent if common.name == ".git" else common


def _roots(repository: Repository) -> tuple[Path, ...]:
    return tuple(root.resolve() for root in (_home(repository), repository.common_dir, repository.work_tree))


def _local_path(repository: Repository, url: str) -> Path | None:
    """The path that an address names on this machine; None when it is another's."""
    if url.startswith("file://"):
        return Path(url.removeprefix("file://")).resolve()
    before_slash = url.partition("/")[0]
    if "://" in url or ":" in before_slash:
        return None
    return (_home(repository) / url).resolve()
