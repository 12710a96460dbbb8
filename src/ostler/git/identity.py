"""The author of commits."""

from __future__ import annotations

import os
import re

from msgspec import Struct

from ostler.git.repository import Repository
from ostler.git.run.failure import classify_failure
from ostler.git.run.program import execute_git, settings_environment, user_environment

_STRIPPED_CHARACTERS = re.compile(r"[\x00-\x20<>]+")


class Identity(Struct, frozen=True):
    """A name and an email address."""

    name: str
    email: str

    def environment(self) -> dict[str, str]:
        """Return the environment that makes git use this identity."""
        return {
            "GIT_AUTHOR_NAME": self.name,
            "GIT_AUTHOR_EMAIL": self.email,
            "GIT_COMMITTER_NAME": self.name,
            "GIT_COMMITTER_EMAIL": self.email,
        }


OSTLER = Identity("Ostler", "ostler@localhost")


def read_identity(repository: Repository) -> Identity:
    """Return the user's identity from the git configuration, or Ostler's own."""
    args = ("config", "-z", "--get-regexp", r"^user\.(name|email)$")
    pinned = {"GIT_DIR": str(repository.git_dir), "GIT_COMMON_DIR": str(repository.common_dir)}
    env = user_environment() | settings_environment({}) | pinned
    finished = execute_git(args, env, repository.common_dir)
    if finished.status not in (0, 1):
        raise classify_failure(args, finished.stderr, repository.work_tree)
    entries = (entry.partition("\n") for entry in os.fsdecode(finished.stdout).split("\0"))
    found = {name: _clean_value(value) for name, _, value in entries}
    name, email = found.get("user.name", ""), found.get("user.email", "")
    return Identity(name, email) if name and email else OSTLER


def _clean_value(value: str) -> str:
    """Remove characters that git drops itself; it refuses a name that consists of them."""
    return _STRIPPED_CHARACTERS.sub(" ", value).strip(" .,:;\"'\\")
