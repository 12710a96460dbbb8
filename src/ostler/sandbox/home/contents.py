"""What an agent finds in the private home directory of its task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

Table = dict[str, Any]
"""A parsed JSON or TOML file."""


class HomeFile(Struct, frozen=True):
    """A settings file that is copied for each attempt; without `keep` and `change` it is copied as it is."""

    path: str  # below the home directory
    keep: tuple[str, ...] | None = None  # the only keys that are copied; None: all except `left_out`
    left_out: tuple[str, ...] = ()  # keys that are copied only if the setting names them: FILE#KEY
    secrets: tuple[str, ...] = ()  # the same for keys of accounts, which are not reported
    change: Callable[[Table], Table] | None = None  # removes keys of accounts, adds what the agent requires


class HomeContents(Struct, frozen=True):
    """The files of one agent in a private home directory."""

    files: tuple[HomeFile, ...] = ()
    left_out: tuple[str, ...] = ()  # files and directories that are copied only if the setting names them
    moved: dict[str, Path] = {}  # path below HOME -> where the user's variables put it instead
    removed: tuple[str, ...] = ()  # files that must not stay from an earlier attempt
    written: dict[str, bytes] = {}  # files that are written after the copies, such as a login without a key

    def find_source(self, path: str, user_home: Path) -> Path:
        """Return where the user has a file of the home directory."""
        matches = [one for one in self.moved if path == one or path.startswith(f"{one}/")]
        if not matches:
            return user_home / path
        longest = max(matches, key=len)
        return self.moved[longest] / path[len(longest) :].lstrip("/")
