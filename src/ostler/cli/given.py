"""What a command line gives to work on: words, a file or stdin."""

from __future__ import annotations

import sys
from pathlib import Path

from msgspec.structs import replace

from ostler.cli.out import hint
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.task import Task

_LARGEST_FILE = 10 * 1024 * 1024


def read_given(title: str | None, description: str | None, file: str | None) -> Task:
    """The task that a title, a description and a Markdown file describe; what is said here wins."""
    if description is not None and file is not None:
        raise UsageError("give the description with -d or with -f, not both")
    if file is not None:
        return _read_task(title or "", file)
    if not title:
        raise UsageError("a task needs a title", 'ostler new "Fix the login redirect"')
    return Task(title, description or "")


def read_text(file: str) -> str:
    """A text file, or stdin; one sentence when it cannot be used."""
    try:
        data = sys.stdin.buffer.read(_LARGEST_FILE + 1) if file == "-" else _read(Path(file))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
    if len(data) > _LARGEST_FILE:
        raise UsageError(
            f"{file} is larger than {_LARGEST_FILE // 2**20} MiB", "put the material into the project"
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 (byte {error.start})", "save it as UTF-8") from None


def _read_task(title: str, file: str) -> Task:
    from ostler.prompt.task_file import read_task_file  # noqa: PLC0415  (a task in words needs no YAML)

    found = read_task_file(read_text(file), "stdin" if file == "-" else file, title)
    for note in found.notes:
        hint(note)
    if found.schedule:
        hint(f"{found.schedule.where}: schedule is for ostler worker; this adds it once, now")
    return replace(found.task, title=title or found.task.title, id=TaskId(""), source="")  # it is a new one


def _read(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a regular file")
    with path.open("rb") as opened:
        return opened.read(_LARGEST_FILE + 1)
