"""The remotes that a branch is published to: their names and addresses, read as plain values."""

from __future__ import annotations

import re

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.command import ask
from ostler.git.refs import is_branch_name
from ostler.git.repository import Repository
from ostler.model.remote import Remote

_LOGIN = re.compile(r"//[^/\s]*@")
_PASSWORD = re.compile(r"//([^/\s:@]*):[^/\s]*@")


class Route(Struct, frozen=True):
    """Where a task's work goes."""

    target: Remote  # has the branch that the work is for
    push: Remote  # gets the task's own branch: the same, or a fork
    notes: tuple[str, ...] = ()


def find_remote(repository: Repository, target: str = "") -> Remote | None:
    """The target branch's own remote, else origin, else the only one; None when there is none to choose."""
    names = _names(repository)
    own = ask(repository, "config", "--get", f"branch.{target}.remote") if target else ""
    only = names[0] if len(names) == 1 else ""
    return _read(repository, next((name for name in (own, "origin", only) if name in names), ""))


def find_route(
    repository: Repository, target: str, fork: str = "", recorded: tuple[Remote, ...] | None = None
) -> Route | None:
    """Where the work goes: to the addresses of when the task began, as an agent can change them since."""
    wanted = find_remote(repository, target)
    remote, note = _as_recorded(wanted, recorded[:1] if recorded is not None else None)
    if remote is None:
        return None
    if not fork:
        return Route(remote, remote.destination, tuple(filter(None, (note,))))
    push, other = _as_recorded(_require(repository, fork), (recorded or ())[1:] or None)
    return Route(remote, (push or remote).destination, tuple(filter(None, (note, other))))


def record_remotes(repository: Repository, target: str, fork: str = "") -> tuple[Remote, ...]:
    """The remote of the target, then the fork, with no login in an address: for the journal."""
    remote = find_remote(repository, target)
    named = _read(repository, fork) if fork in _names(repository) else None
    return tuple(_plain(one) for one in ((remote, named) if remote else ()) if one)


def without_login(text: str) -> str:
    """The same text, with no name or token left in an address."""
    return _LOGIN.sub("//", text)


def _as_recorded(now: Remote | None, then: tuple[Remote, ...] | None) -> tuple[Remote | None, str]:
    if then is None or (now is None and not then):
        return now, ""
    if not then:
        return None, ""
    if now is not None and _plain(now) == then[0]:
        return now, ""
    was, here = then[0].destination.url, _plain(now).destination.url if now else "nowhere"
    return then[
        0
    ], f"{then[0].name} led to {was} when the task began and leads to {here} now; the first counts"


def _require(repository: Repository, name: str) -> Remote:
    found = _read(repository, name) if name in _names(repository) else None
    if found is not None:
        return found
    message = f"there is no remote {name}, which git.push_remote names"
    raise GitError(Code.PUBLISH_FAILED, message, f"git remote add {name} <its address>")


def _names(repository: Repository) -> list[str]:
    return [name for name in ask(repository, "remote").split("\n") if is_branch_name(name)]


def _read(repository: Repository, name: str) -> Remote | None:
    url = _value(repository, name, "url") if name else ""
    return Remote(name, url, _value(repository, name, "pushurl")) if url else None


def _plain(remote: Remote) -> Remote:
    return Remote(remote.name, _without_secret(remote.url), _without_secret(remote.push_url))


def _without_secret(url: str) -> str:
    """Over ssh the name is part of the way there, and the key is elsewhere."""
    return without_login(url) if url.startswith("http") else _PASSWORD.sub(r"//\1@", url)


def _value(repository: Repository, name: str, key: str) -> str:
    return ask(repository, "config", "--get", f"remote.{name}.{key}")
