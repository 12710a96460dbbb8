"""The remote that a branch is published to: its name and address, read as plain values."""

from __future__ import annotations

import re

from msgspec import Struct

from ostler.git.command import ask
from ostler.git.refs import is_branch_name
from ostler.git.repository import Repository

_LOGIN = re.compile(r"//[^/@\s]+@")


class Remote(Struct, frozen=True):
    """Where a repository is published."""

    name: str
    url: str
    push_url: str = ""  # empty: the same

    @property
    def destination(self) -> Remote:
        """The same remote, looked at where it is pushed to."""
        return Remote(self.name, self.push_url or self.url)


def find_remote(repository: Repository, target: str = "") -> Remote | None:
    """The target branch's own remote, else origin, else the only one; None when there is none to choose."""
    names = [name for name in ask(repository, "remote").split("\n") if is_branch_name(name)]
    own = ask(repository, "config", "--get", f"branch.{target}.remote") if target else ""
    only = names[0] if len(names) == 1 else ""
    name = next((name for name in (own, "origin", only) if name in names), "")
    url = _value(repository, name, "url") if name else ""
    return Remote(name, url, _value(repository, name, "pushurl")) if url else None


def without_login(text: str) -> str:
    """The same text, with no name or token left in an address."""
    return _LOGIN.sub("//", text)


def _value(repository: Repository, name: str, key: str) -> str:
    return ask(repository, "config", "--get", f"remote.{name}.{key}")
