"""The user's list of projects, in a private file.

Each has a name that does not change, for the URLs of a server.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import chain, count
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.config.find import find_root
from ostler.errors import OstlerError
from ostler.files.atomic import make_private_dir, write_atomic
from ostler.files.lock import wait_for_lock
from ostler.files.user_state import find_user_state, require_user_state

FILE_NAME = "projects.json"
_LOCK_SECONDS = 5.0
_USE_SECONDS = 600.0  # how often the time of the last use is written
_LONGEST_NAME = 60
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class KnownProject(Struct, frozen=True):
    """A project that the user has used."""

    name: str
    root: str
    used_at: float  # within ten minutes

    @property
    def is_gone(self) -> bool:
        """Whether the directory has no project any more."""
        return not _has_project(Path(self.root))


class _File(Struct, frozen=True):
    projects: tuple[KnownProject, ...] = ()
    version: int = 1


class KnownProjects:
    """The list; several processes can change it."""

    def __init__(self, environ: Mapping[str, str], now: Callable[[], float] = time.time) -> None:
        self._environ = environ
        self._now = now

    def list(self) -> tuple[KnownProject, ...]:
        """Return all, sorted by name; empty without a home directory."""
        state = find_user_state(self._environ)
        return () if state is None else _read(state / FILE_NAME)

    def find(self, root: Path) -> KnownProject | None:
        """Return the project in a directory."""
        return _find(self.list(), root)

    def add(self, root: Path) -> KnownProject:
        """Add a project, or record that it is used now; raise OstlerError if the list cannot be written."""
        path = require_user_state(self._environ) / FILE_NAME
        known = _find(_read(path), root)
        if known is not None and abs(self._now() - known.used_at) < _USE_SECONDS:
            return known
        make_private_dir(path.parent)
        with wait_for_lock(path.with_suffix(".lock"), _LOCK_SECONDS):
            projects = _read(path)
            known = _find(projects, root)
            others = [one for one in projects if one is not known]
            name = known.name if known else _choose_name(root, (one.name for one in others))
            added = KnownProject(name, str(root), self._now())
            _write(path, (*others, added))
        return added

    def forget(self, which: Callable[[KnownProject], bool]) -> tuple[KnownProject, ...]:
        """Remove projects from the list and return them; their files are kept."""
        path = require_user_state(self._environ) / FILE_NAME
        if not any(map(which, _read(path))):
            return ()
        with wait_for_lock(path.with_suffix(".lock"), _LOCK_SECONDS):
            projects = _read(path)
            removed = tuple(one for one in projects if which(one))
            _write(path, [one for one in projects if one not in removed])
        return removed


def remember_project(root: Path, environ: Mapping[str, str]) -> None:
    """Add a project to the list; work does not stop when the list cannot be written."""
    if environ.get("OSTLER_TASK") or not _has_project(root):  # of an agent, or not created yet
        return
    with suppress(OstlerError, OSError):
        KnownProjects(environ).add(root)


def _has_project(root: Path) -> bool:
    try:
        return root.is_dir() and find_root(root, {}) == root
    except OSError:
        return False


def _find(projects: Iterable[KnownProject], root: Path) -> KnownProject | None:
    return next((one for one in projects if one.root == str(root)), None)


def _choose_name(root: Path, taken: Iterable[str]) -> str:
    """Return the name of the directory, with a number if another project has it."""
    base = _UNSAFE.sub("-", root.name)[:_LONGEST_NAME].strip("-.") or "project"
    used = {name.lower() for name in taken}
    names = chain([base], (f"{base}-{number}" for number in count(2)))
    return next(name for name in names if name.lower() not in used)


def _read(path: Path) -> tuple[KnownProject, ...]:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_File).projects
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return ()


def _write(path: Path, projects: Iterable[KnownProject]) -> None:
    if path.exists() and not _is_readable(path):
        path.replace(path.with_suffix(".damaged"))
    ordered = tuple(sorted(projects, key=lambda one: one.name.lower()))
    write_atomic(path, msgspec.json.format(msgspec.json.encode(_File(ordered))) + b"\n")


def _is_readable(path: Path) -> bool:
    try:
        msgspec.json.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True
