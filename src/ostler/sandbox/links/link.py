"""A link from the environment of a gate to the user's checkout."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from ostler.lazy import lazy_pattern
from ostler.sandbox.checkout import Checkout

# copy: the project is installed as a copy, which can be older than the commit; commit: a symbolic link in it;
# command: a path in the command
LinkKind = Literal["python", "copy", "node", "build", "commit", "command"]
_MAX_BYTES = 1 << 20  # larger files are no configuration
_END_OF_PATH = lazy_pattern(rb"[\"'\r\n\0;,<>]")
_ABSOLUTE_PATH = lazy_pattern(rb"(?<![\w.~}/])(?:-[A-Z])?(/+[^\"'\r\n\0;,<>]+)")
_WORD = lazy_pattern(rb"[^\s:&|)]+")


class Link(Struct, frozen=True):
    """A file of the environment, and the path in the user's checkout that it leads to."""

    kind: LinkKind
    source: Path
    target: Path
    name: str = ""  # of the source, where it is in a temporary directory

    def describe(self) -> str:
        return f"{self.name or self.source} -> {self.target}"


def read_small_file(path: Path | str) -> bytes:
    """Return the content; empty if it is missing, unreadable, no regular file or too large."""
    try:
        # Hundreds of files are looked for before each attempt, and most of them are missing.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MAX_BYTES:
            return b""
        with open(descriptor, "rb", buffering=0, closefd=False) as file:
            return file.read()
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def list_directory(path: Path) -> list[os.DirEntry[str]]:
    """Return the entries; none if the directory is missing or unreadable."""
    try:
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def find_named_paths(content: bytes, checkout: Checkout) -> Iterator[Path]:
    """Return the paths in user work trees that a file names, also through symbolic links."""
    for root in (checkout.user, *checkout.others):
        name = os.fsencode(root)
        start = content.find(name)
        while start >= 0:
            end = _END_OF_PATH.search(content, start)
            text = content[start : end.start() if end else len(content)].rstrip()
            if text[len(name) : len(name) + 1] in (b"", b"/"):
                yield Path(os.fsdecode(text))
            start = content.find(name, start + len(name))
    yield from _find_aliases(content, checkout)


def _find_aliases(content: bytes, checkout: Checkout) -> Iterator[Path]:
    """Return the absolute paths that lead to a user work tree and do not contain its name."""
    for text in dict.fromkeys(match[1] for match in _ABSOLUTE_PATH.finditer(content)):
        words = [word for word in _WORD.findall(text) if word.startswith(b"/")]
        # A path can contain spaces, and another path can follow a space.
        yield from _resolve(words, checkout) or _resolve([text.rstrip()], checkout)


def _resolve(texts: list[bytes], checkout: Checkout) -> list[Path]:
    paths = [Path(os.fsdecode(text)) for text in texts]
    reached = [Path(os.path.realpath(path)) for path in paths if checkout.find_root(path) is None]
    return [path for path in reached if checkout.find_root(path) is not None]
