"""In whose name commits are made."""

from __future__ import annotations

import os
import re

from msgspec import Struct

from ostler.git.failure import explain
from ostler.git.program import execute, settings_environment, users_environment
from ostler.git.repository import Repository

_CRUD = re.compile(r"[\x00-\x20<>]+")


class Identity(Struct, frozen=True):
    """A name and an address, as commits show them."""

    name: str
    email: str

    def environment(self) -> dict[str, str]:
        """What git reads it from; nothing has to be written into any configuration."""
        return {
            "GIT_AUTHOR_NAME": self.name,
            "GIT_AUTHOR_EMAIL": self.email,
            "GIT_COMMITTER_NAME": self.name,
            "GIT_COMMITTER_EMAIL": self.email,
        }


OSTLER = Identity("Ostler", "ostler@localhost")


def read_identity(repository: Repository) -> Identity:
    """The user's name and address from their git configuration, else Ostler's own."""
    args = ("config", "-z", "--get-regexp", r"^user\.(name|email)$")
    pinned = {"GIT_DIR": str(repository.git_dir), "GIT_COMMON_DIR": str(repository.common_dir)}
    env = users_environment() | settings_environment({}) | pinned
    finished = execute(args, env, repository.common_dir)
    if finished.status not in (0, 1):
        raise explain(args, finished.stderr, repository.work_tree)
    entries = (entry.partition("\n") for entry in os.fsdecode(finished.stdout).split("\0"))
    found = {name: _plain(value) for name, _, value in entries}
    name, email = found.get("user.name", ""), found.get("user.email", "")
    return Identity(name, email) if name and email else OSTLER


def _plain(value: str) -> str:
    """Git drops these characters itself, and refuses a name that consists of them."""
    return _CRUD.sub(" ", value).strip(" .,:;\"'\\")
