"""The files that a sandbox has beside the system: what is writable, and where its private files are kept."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from ostler.sandbox.mounts import Mount

OpenMounts = Callable[[], AbstractContextManager[tuple[Mount, ...]]]
"""Prepares the mounts for one program; afterwards the files are as before."""

Guard = Callable[[Mapping[str, str]], dict[str, str]]
"""Returns variables for a program with these that gets no sandbox: they refuse a push, or extend PATH."""


class Workspace(Struct, frozen=True):
    """The files of one sandbox; `open_mounts` is called at each start."""

    directory: Path  # the working directory
    place: Path  # private files that stay between two starts: the home directory, the git directory
    project: Path  # the user's checkout, whose configuration of tools applies
    open_mounts: OpenMounts
    programs: tuple[Path, ...] = ()  # directories inside that are first in PATH
    guard: Guard | None = None
    records: tuple[Path, ...] = ()  # of Ostler: journal and other tasks, which no setting makes readable

    @property
    def home(self) -> Path:
        return self.place / "home"


def create_plain_workspace(directory: Path, state: Path) -> Workspace:
    """Return the workspace of an agent without a task: one writable directory."""
    name = blake2b(str(directory).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()

    @contextmanager
    def open_mounts() -> Generator[tuple[Mount, ...]]:
        yield (Mount(directory, directory, writable=True),)

    return Workspace(directory, state / "sandboxes" / name, directory, open_mounts)
