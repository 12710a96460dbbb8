"""Read a task from command-line options, a file or stdin."""

from __future__ import annotations

import sys
from pathlib import Path

from msgspec.structs import replace

from ostler.cli.terminal.output import print_hint
from ostler.errors import UsageError
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.text import describe_os_error

_MAX_BYTES = 10 * 1024 * 1024


def read_task(title: str | None, description: str | None, file: str | None) -> Task:
    """Return the task of a title, a description and a Markdown file; the title overrides the file's."""
    if description is not None and file is not None:
        raise UsageError("pass the description with -d or with -f, not both")
    if file is not None:
        return _read_task_file(title or "", file)
    if not title:
        raise UsageError("a task needs a title", 'ostler new "Fix the login redirect"')
    return Task(title, description or "")


def read_text(file: str) -> str:
    """Return the text of a file, or of stdin for "-"; raises UsageError when it cannot be read."""
    try:
        data = sys.stdin.buffer.read(_MAX_BYTES + 1) if file == "-" else _read_bytes(Path(file))
    except OSError as error:
        raise UsageError(f"cannot read {file}: {describe_os_error(error)}") from None
    if len(data) > _MAX_BYTES:
        raise UsageError(
            f"{file} is larger than {_MAX_BYTES // 2**20} MiB",
            "add large material to the project and name its path",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file} is not UTF-8 (byte {error.start})", "save it as UTF-8") from None


def _read_task_file(title: str, file: str) -> Task:
    # It loads YAML, which a task in options does not need.
    from ostler.sources.task_file import read_task_file  # noqa: PLC0415

    found = read_task_file(read_text(file), "stdin" if file == "-" else file, title)
    for note in found.notes:
        print_hint(note)
    if found.schedule:
        print_hint(f"{found.schedule.location}: the schedule is ignored here; ostler worker uses it")
    # A task of its own, independent of the id in the file.
    own = {"id": TaskId(""), "external_id": "", "source": "", "start_commit": ""}
    return replace(found.task, title=title or found.task.title, **own)


def _read_bytes(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a regular file")
    with path.open("rb") as opened:
        return opened.read(_MAX_BYTES + 1)
