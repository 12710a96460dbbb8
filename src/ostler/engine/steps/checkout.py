"""A commit in a private directory outside the project, prepared, and gone again when the gate is through."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread

from ostler.engine.steps.busy import busy
from ostler.engine.steps.furnish import Room, furnish
from ostler.engine.steps.shell import marker_of
from ostler.engine.steps.tools import Case, Tools, to_its_end
from ostler.errors import Code, OstlerError, PathEscape
from ostler.files.atomic import make_private_dir, write_atomic
from ostler.files.disk import disk_error
from ostler.files.paths import open_beneath
from ostler.git.export import directory_of, export
from ostler.git.repository import Repository
from ostler.git.trash import TRASH, discard, empty_later, empty_trash
from ostler.git.warm import Pool, forget, park, tidy_later
from ostler.model.ids import TaskId
from ostler.process.sweep import sweep

_RECORDS = "gates"
_RECORD = "checkout*.path"
_NAME = re.compile(r"ostler-gate-[0-9a-f]{16}")


@asynccontextmanager
async def clean_checkout(sha: str, log: Path, case: Case, tools: Tools) -> AsyncGenerator[Path]:
    """The project's directory in a checkout of this commit; the setup's output goes to `log`.

    Raises OstlerError when it cannot be made. Whatever happens, it is taken away again.
    """
    assert tools.repository is not None
    await to_its_end(_clear, case, tools)
    place = _room_outside(tools) / f"ostler-gate-{os.urandom(8).hex()}"
    try:
        with busy("checks the commit out for its gate", case, tools):
            made = await to_its_end(_make, sha, place, tools.repository, case.state.task, tools)
        directory = directory_of(made)
        await furnish(Room(made, directory, log), case, tools)
        yield directory
    finally:
        await to_its_end(_put_away, place, case.state.task, tools)


def remove_checkout(task: TaskId, tools: Tools, wait: bool = True) -> bool:
    """Take away what gates of this task left; True when there was something.

    Files on another disk than the project's are deleted one by one; one need not wait for that.
    """
    records = _records(task, tools)
    for record in records:
        place = _recorded(record)
        if place is None or not _is_ours(place) or _take_away(place, tools):
            record.unlink(missing_ok=True)
        else:
            _dissolve_all(place, record, wait)
    empty_later(tools.layout.worktrees)
    return bool(records)


def _records(task: TaskId, tools: Tools) -> list[Path]:
    return sorted((tools.layout.task(task) / _RECORDS).glob(_RECORD))


def _clear(case: Case, tools: Tools) -> None:
    """What a killed run left: first the processes, then the files."""
    if _records(case.state.task, tools):
        sweep(marker_of(case, tools).__eq__)
        remove_checkout(case.state.task, tools, wait=False)


def _make(sha: str, place: Path, repository: Repository, task: TaskId, tools: Tools) -> Repository:
    record = tools.layout.task(task) / _RECORDS / _RECORD.replace("*", place.name.removeprefix("ostler-gate"))
    make_private_dir(record.parent)
    write_atomic(record, os.fsencode(place))  # first, so that nothing is ever left unknown
    try:
        place.mkdir(mode=0o700)
    except OSError as error:
        raise disk_error(place, error) from error
    return export(repository, sha, _tree(place, tools), _pool(tools))


def _put_away(place: Path, task: TaskId, tools: Tools) -> None:
    """Keep the files for the next gate or task, or throw them away: both are a rename."""
    parked = park(_pool(tools), _tree(place, tools), place.name)
    remove_checkout(task, tools, wait=False)
    if parked and tools.repository is not None:
        tidy_later(_pool(tools), tools.repository)


def _tree(place: Path, tools: Tools) -> Path:
    return place / (tools.layout.root.name or "project")


def _pool(tools: Tools) -> Pool:
    return Pool(tools.layout.worktrees, tools.settings.git.warm_worktrees)


def _room_outside(tools: Tools) -> Path:
    """A directory for temporary files that is no part of the project."""
    root = tools.layout.root.resolve()
    for name in (tools.environ.get("TMPDIR", ""), tempfile.gettempdir(), "/var/tmp"):  # noqa: S108
        place = Path(name).resolve()
        if name and place.is_dir() and not place.is_relative_to(root):
            return place
    message = f"there is no place for temporary files outside of {root}"
    raise OstlerError(Code.WORKSPACE_WRITE_FAILED, message, "set TMPDIR to a directory elsewhere")


def _recorded(record: Path) -> Path | None:
    """Where the checkout is said to be; None when something else is in the record's place."""
    try:
        with os.fdopen(open_beneath(record.parent, record.name, os.O_RDONLY), "rb") as file:
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


def _take_away(place: Path, tools: Tools) -> bool:
    """By a rename into the trash of the worktrees; False when that is on another disk."""
    try:
        discard(place, tools.layout.worktrees)
    except OSError:
        return False
    forget(_pool(tools), place.name)
    return True


def _dissolve_all(place: Path, record: Path, wait: bool) -> None:
    """The record stays as long as there is anything, so that it is tried again."""

    def work() -> None:
        if _dissolve(place):
            record.unlink(missing_ok=True)

    if wait:
        work()
    else:
        Thread(target=work, name=f"checkout {place}", daemon=True).start()


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
