"""The remotes of a repository and where a task's branch is pushed."""

from __future__ import annotations

import re

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.refs import is_branch_name
from ostler.git.repository import Repository
from ostler.git.run.safe_config import read_config_entries
from ostler.model.policy.remote import Remote

_LOGIN = re.compile(r"//[^/\s]*@")
_PASSWORD = re.compile(r"//([^/\s:@]*):[^/\s]*@")


class Route(Struct, frozen=True):
    """Where a task's branch is published."""

    target: Remote  # has the target branch
    push: Remote  # receives the task's branch: the same, or a fork
    notes: tuple[str, ...] = ()


def find_remote(repository: Repository, target: str = "") -> Remote | None:
    """Return the remote of the target branch, else origin, else the only remote; None if there is none."""
    names = _list_names(repository)
    if not names:
        return None
    own = dict(read_config_entries(repository)).get(f"branch.{target}.remote", "")
    only = names[0] if len(names) == 1 else ""
    return read_remote(repository, next((name for name in (own, "origin", only) if name in names), ""))


def find_route(
    repository: Repository, target: str, fork: str = "", recorded: tuple[Remote, ...] | None = None
) -> Route | None:
    """Return where to publish, with the URLs of the start of the task: an agent may have changed them."""
    current = find_remote(repository, target)
    remote, note = _prefer_recorded(current, recorded[:1] if recorded is not None else None)
    if remote is None:
        return None
    if not fork:
        return Route(remote, remote.destination, tuple(filter(None, (note,))))
    push, other = _prefer_recorded(_require_remote(repository, fork), (recorded or ())[1:] or None)
    return Route(remote, (push or remote).destination, tuple(filter(None, (note, other))))


def record_remotes(repository: Repository, target: str, fork: str = "") -> tuple[Remote, ...]:
    """Return the remote of the target and the fork for the journal, without logins in their URLs."""
    remote = find_remote(repository, target)
    named = read_remote(repository, fork) if fork and fork in _list_names(repository) else None
    return tuple(_strip_remote_login(one) for one in ((remote, named) if remote else ()) if one)


def strip_login(text: str) -> str:
    """Remove user names and tokens from URLs in the text."""
    return _LOGIN.sub("//", text)


def _prefer_recorded(
    current_remote: Remote | None, recorded_remotes: tuple[Remote, ...] | None
) -> tuple[Remote | None, str]:
    if recorded_remotes is None or (current_remote is None and not recorded_remotes):
        return current_remote, ""
    if not recorded_remotes:
        return None, ""
    if current_remote is not None and _strip_remote_login(current_remote) == recorded_remotes[0]:
        return current_remote, ""
    recorded = recorded_remotes[0]
    url = _strip_remote_login(current_remote).destination.url if current_remote else "missing"
    name, old_url = recorded.name, recorded.destination.url
    return recorded, f"{name} was {old_url} when the task started and is {url} now; the first is used"


def _require_remote(repository: Repository, name: str) -> Remote:
    found = read_remote(repository, name) if name in _list_names(repository) else None
    if found is not None:
        return found
    message = f"git.push_remote is {name}, but there is no such remote"
    raise GitError(Code.PUBLISH_FAILED, message, f"run git remote add {name} <url>")


def _list_names(repository: Repository) -> list[str]:
    named = (name.removeprefix("remote.").rpartition(".")[0] for name in _read_remotes(repository))
    return sorted({name for name in named if is_branch_name(name)})


def _read_remotes(repository: Repository) -> dict[str, str]:
    """Return the settings of the remotes; the last value of a name applies."""
    return {name: value for name, value in read_config_entries(repository) if name.startswith("remote.")}


def read_remote(repository: Repository, name: str) -> Remote | None:
    """Return the remote with this name; None if there is none."""
    url = _read_value(repository, name, "url") if name else ""
    return Remote(name, url, _read_value(repository, name, "pushurl")) if url else None


def _strip_remote_login(remote: Remote) -> Remote:
    return Remote(remote.name, _strip_secret(remote.url), _strip_secret(remote.push_url))


def _strip_secret(url: str) -> str:
    """Remove the login of an http URL, or only the password: with ssh the user name is needed."""
    return strip_login(url) if url.startswith("http") else _PASSWORD.sub(r"//\1@", url)


def _read_value(repository: Repository, name: str, key: str) -> str:
    return _read_remotes(repository).get(f"remote.{name}.{key}", "")
