"""The author of commits."""

from __future__ import annotations

import re

from msgspec import Struct

from ostler.git.repository import Repository
from ostler.git.run.user_config import read_user_entries

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
    found = dict(read_user_entries(repository))
    name, email = (_clean_value(found.get(one, "")) for one in ("user.name", "user.email"))
    return Identity(name, email) if name and email else OSTLER


def _clean_value(value: str) -> str:
    """Remove characters that git drops itself; it refuses a name that consists of them."""
    return _STRIPPED_CHARACTERS.sub(" ", value).strip(" .,:;\"'\\")
