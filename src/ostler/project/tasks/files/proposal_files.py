"""Proposals as files: an agent in a sandbox leaves them beside its state file, and the run takes them in."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from ostler.errors import OstlerError, UsageError
from ostler.files.atomic import write_projection
from ostler.model.ids import TaskId, make_id_tail, make_task_id
from ostler.model.task import Task
from ostler.project.running.current_attempt import CurrentAttempt
from ostler.project.tasks.title import normalize_title
from ostler.text import describe_os_error

if TYPE_CHECKING:
    from ostler.project.project import Project

_FOLDER = "proposals"
_NAME = re.compile(r"[0-9a-f]{16}\.json")
_MAX_FILES = 20
_MAX_BYTES = 1 << 18
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def write_proposal(state_file: Path, task: Task) -> TaskId:
    """Write a proposal; return the id that the run gives to the task."""
    named = replace(task, title=normalize_title(task.title))
    data = msgspec.json.encode(named)
    if len(data) > _MAX_BYTES:
        raise UsageError(f"the proposal is larger than {_MAX_BYTES // 1024} KiB", "shorten its description")
    folder = state_file.parent / _FOLDER
    folder.mkdir(exist_ok=True)
    if len(list(folder.iterdir())) >= _MAX_FILES:
        raise UsageError(
            f"this attempt has proposed {_MAX_FILES} tasks", "describe the work in your answer instead"
        )
    write_projection(folder / f"{_digest(data).hex()}.json", data)
    return _create_id(named, data)


def take_in_proposals(project: Project, task: TaskId, attempt: int, state_file: Path) -> tuple[str, ...]:
    """Add the proposals of an attempt as tasks that wait for a person, and delete the files.

    Return what was refused. It runs in a thread, so it opens its own journal; repeating it has no effect.
    """
    if not (state_file.parent / _FOLDER).is_dir():
        return ()
    with project.open_again() as own:
        own.current_attempt = CurrentAttempt(task, attempt)
        return _take_in(own, state_file)


def _take_in(project: Project, state_file: Path) -> tuple[str, ...]:
    warnings: list[str] = []
    with suppress(OSError), _OpenFolder(state_file) as folder:
        with os.scandir(folder.fd) as entries:
            names = sorted(one.name for one in entries if _NAME.fullmatch(one.name))
        for name in names[:_MAX_FILES]:
            try:
                project.add(_read(folder.fd, name))
            except (OstlerError, OSError) as error:
                reason = error.message if isinstance(error, OstlerError) else describe_os_error(error)
                warnings.append(f"a proposal of the agent was refused: {reason}")
            with suppress(OSError):
                os.unlink(name, dir_fd=folder.fd)
    with suppress(OSError):
        (state_file.parent / _FOLDER).rmdir()
    return tuple(dict.fromkeys(warnings))


class _OpenFolder:
    """The directory of the proposals, opened without following links of the agent."""

    def __init__(self, state_file: Path) -> None:
        parent = os.open(state_file.parent, _DIRECTORY)
        try:
            self.fd = os.open(_FOLDER, _DIRECTORY, dir_fd=parent)
        finally:
            os.close(parent)

    def __enter__(self) -> _OpenFolder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)


def _read(folder: int, name: str) -> Task:
    """Return the task of a file; the fields that only Ostler sets are empty."""
    with os.fdopen(os.open(name, _FILE, dir_fd=folder), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise UsageError("it is not a regular file")
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise UsageError(f"it is larger than {_MAX_BYTES // 1024} KiB")
    try:
        task = msgspec.json.decode(data, type=Task)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"it is invalid: {error}") from None
    named = replace(task, title=normalize_title(task.title), source="", start_commit="", pipeline=None)
    return replace(named, id=_create_id(named, data))


def _create_id(task: Task, data: bytes) -> TaskId:
    """Return an id from the content: a file that is taken in twice is one task."""
    return make_task_id(task.title, make_id_tail(_digest(data)))


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=8).digest()
