"""What an environment is built from; the same recipe gives the same key."""

from __future__ import annotations

import hashlib
from typing import Literal

from msgspec import Struct

PROJECT = "project"  # in the build directory: the files of the recipe
ENVIRONMENT = "env"  # beside it: the Python environment
_KEY_LENGTH = 16


class NoEnvironment(Exception):
    """No environment can be used; the message is the reason."""


class Recipe(Struct, frozen=True):
    """Files of the commit and a command that installs what they name, without the project itself."""

    kind: Literal["python", "node"]
    lockfiles: tuple[str, ...]  # for messages
    files: dict[str, bytes]  # copied to the directory in which the command runs
    command: str  # a shell command; the environment is ../env
    facts: tuple[str, ...]  # interpreter, its version, platform, setup text
    relevant: dict[str, bytes] = {}  # content of a file that counts, where the rest of it does not

    @property
    def key(self) -> str:
        content = {name: self.relevant.get(name, data) for name, data in self.files.items()}
        parts = [self.kind, self.command, *self.facts]
        parts += [f"{name} {hashlib.sha256(data).hexdigest()}" for name, data in sorted(content.items())]
        text = "\0".join(f"{len(part)} {part}" for part in parts)
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_KEY_LENGTH]

    def describe(self) -> str:
        return ", ".join(self.lockfiles)
