"""A commit in a private directory outside the project, prepared, and gone again when the gate is through."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from ostler.engine.steps.furnish import Room, furnish
from ostler.engine.steps.shell import marker_of
from ostler.engine.steps.tools import Case, Tools, to_its_end
from ostler.errors import Code, OstlerError, PathEscape
from ostler.files.atomic import make_private_dir, write_atomic
from ostler.files.disk import disk_error
from ostler.files.paths import open_beneath
from ostler.git.export import directory_of, export
from ostler.git.repository import Repository
from ostler.git.trash import TRASH, discard, empty_trash
from ostler.model.ids import TaskId
from ostler.process.sweep import sweep

_RECORD = "gates/checkout.path"
_NAME = re.compile(r"ostler-gate-[0-9a-f]{16}")


@asynccontextmanager
async def clean_checkout(sha: str, log: Path, case: Case, tools: Tools) -> AsyncGenerator[Path]:
    """The project's directory in a checkout of this commit; the setup's output goes to `log`.

    Raises OstlerError when it cannot be made. Whatever happens, it is taken away again.
    """
    assert tools.repository is not None
    await to_its_end(_clear, case, tools)
    try:
        made = await to_its_end(_make, sha, tools.repository, case.state.task, tools)
        directory = directory_of(made)
        await furnish(Room(made, directory, log), case, tools)
        yield directory
    finally:
        await to_its_end(remove_checkout, case.state.task, tools)


def remove_checkout(task: TaskId, tools: Tools) -> bool:
    """Take away what a gate of this task left; True when there was something."""
    record = tools.layout.task(task) / _RECORD
    if not os.path.lexists(record):
        return False
    place = _recorded(tools.layout.task(task))
    if place is None or not _is_ours(place) or _dissolve(place):
        record.unlink(missing_ok=True)  # otherwise it stays, so that it is tried again
    return True


def _clear(case: Case, tools: Tools) -> None:
    """What a killed run left: first the processes, then the files."""
    if os.path.lexists(tools.layout.task(case.state.task) / _RECORD):
        sweep(marker_of(case, tools).__eq__)
        remove_checkout(case.state.task, tools)


def _make(sha: str, repository: Repository, task: TaskId, tools: Tools) -> Repository:
    place = _room_outside(tools) / f"ostler-gate-{os.urandom(8).hex()}"
    record = tools.layout.task(task) / _RECORD
    make_private_dir(record.parent)
    write_atomic(record, os.fsencode(place))  # first, so that nothing is ever left unknown
    try:
        place.mkdir(mode=0o700)
    except OSError as error:
        raise disk_error(place, error) from error
    return export(repository, sha, place / (tools.layout.root.name or "project"))


def _room_outside(tools: Tools) -> Path:
    """A directory for temporary files that is no part of the project."""
    root = tools.layout.root.resolve()
    for name in (tools.environ.get("TMPDIR", ""), tempfile.gettempdir(), "/var/tmp"):  # noqa: S108
        place = Path(name).resolve()
        if name and place.is_dir() and not place.is_relative_to(root):
            return place
    message = f"there is no place for temporary files outside of {root}"
    raise OstlerError(Code.WORKSPACE_WRITE_FAILED, message, "set TMPDIR to a directory elsewhere")


def _recorded(home: Path) -> Path | None:
    """Where the checkout is said to be; None when something else is in the record's place."""
    try:
        with os.fdopen(open_beneath(home, _RECORD, os.O_RDONLY), "rb") as file:
            return Path(os.fsdecode(file.read(4096)))
    except (OSError, PathEscape):
        return None


def _is_ours(place: Path) -> bool:
    """A directory that only this module can have made, whatever the record says."""
    try:
        found = place.lstat()
    except OSError:
        return False
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return ours and place.is_absolute() and _NAME.fullmatch(place.name) is not None


def _dissolve(place: Path) -> bool:
    """Delete it with all that a command left in it, whatever the modes."""
    try:
        place.chmod(0o700)
        trash = place / TRASH
        if trash.is_symlink() or trash.is_file():
            trash.unlink()
        for child in [one for one in place.iterdir() if one != trash]:
            discard(child, place)
        empty_trash(place)
        if trash.is_dir():
            trash.rmdir()
        place.rmdir()
    except OSError:
        return False
    return True
