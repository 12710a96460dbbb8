"""Open the user's editor in this terminal."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ostler.errors import UsageError
from ostler.files.atomic import make_private_dir, write_projection
from ostler.files.lock import try_lock
from ostler.process.tool import run_in_foreground

_NOT_STARTED = 127  # also the status of a shell that does not find the program


class EditorNotStarted(UsageError):
    """The editor that the environment names cannot be started."""


def edit_file(path: Path) -> None:
    """Edit the file and wait until the editor ends; raises UsageError when the editor fails."""
    name, chosen = _choose()
    if not chosen and not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = "use options, or set EDITOR to a program that needs none"
        raise UsageError("an editor needs a terminal", hint)
    editor = _split(name, chosen or "vi")
    status = run_in_foreground([*editor, str(path)])
    if status == _NOT_STARTED:
        raise EditorNotStarted(f"{editor[0]} cannot be started", f"set {name} to an installed editor")
    if status != 0:
        ended = f"exit status {status}" if status > 0 else f"ended by {_name_signal(-status)}"
        raise UsageError(f"{editor[0]} could not edit {path}: {ended}", "nothing is changed")
    if not path.exists():
        raise UsageError(f"{editor[0]} deleted {path}", "nothing is changed; save the file to change it")


def _choose() -> tuple[str, str]:
    """Return the variable that names the editor, and its value; EDITOR if none does."""
    for name in ("VISUAL", "EDITOR"):
        if chosen := os.environ.get(name, "").strip():
            return name, chosen
    return "EDITOR", ""


def _split(name: str, command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise EditorNotStarted(
            f"{name} is not a command: {str(error).lower()}", f"set {name} to an installed editor"
        ) from None


def _name_signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@contextmanager
def hold_text(lock: Path, command: str) -> Generator[None]:
    """Hold the lock of a text, which has one editor at a time. Raises UsageError while one is open."""
    make_private_dir(lock.parent)
    held = try_lock(lock)
    if held is None:
        raise UsageError(
            f"{command} is open in another terminal", "finish it there: save, and close the editor"
        )
    with held:
        yield


def edit_kept(path: Path, text: str, command: str) -> str:
    """Return the edited text; its file stays, and the caller deletes it when the text is used.

    So the text and the recovery files of the editor survive a lost terminal. Raises UsageError when the
    editor fails; a new text without a change is deleted then.
    """
    make_private_dir(path.parent)
    before = read_kept_text(path)
    if before != text:  # else an editor takes its recovery file for older than the text
        write_projection(path, text.encode("utf-8", "replace"))
    try:
        edit_file(path)
    except UsageError as error:
        if not path.exists() or (not before and read_kept_text(path) == text):
            path.unlink(missing_ok=True)
            raise
        start = f"{error.hint}; " if isinstance(error, EditorNotStarted) else ""
        raise UsageError(error.message, f"{start}your text is kept: {command}") from None
    return read_kept_text(path)


def read_kept_text(path: Path) -> str:
    """Return the text; empty if there is none."""
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""


def edit_text(text: str, name: str) -> str:
    """Return the edited text; the temporary file has this name and is private."""
    # config show does not need it.
    from tempfile import TemporaryDirectory  # noqa: PLC0415

    with TemporaryDirectory(prefix="ostler-") as folder:
        path = Path(folder) / name
        path.write_text(text, "utf-8", "replace")
        edit_file(path)
        return path.read_text("utf-8", "replace")
