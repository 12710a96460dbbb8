"""Open the user's editor in this terminal."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from ostler.errors import UsageError
from ostler.process.tool import run_in_foreground

_NOT_STARTED = 127  # also the status of a shell that does not find the program


def edit_file(path: Path) -> None:
    """Edit the file and wait until the editor ends; raises UsageError when the editor fails."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not chosen and not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = "use options, or set EDITOR to a program that needs none"
        raise UsageError("an editor needs a terminal", hint)
    editor = _split(chosen or "vi")
    status = run_in_foreground([*editor, str(path)])
    if status == _NOT_STARTED:
        raise UsageError(f"{editor[0]} could not edit {path}", "set EDITOR to an installed editor")
    if status != 0:
        raise UsageError(f"{editor[0]} could not edit {path}: exit status {status}", "nothing is changed")
    if not path.exists():
        raise UsageError(f"{editor[0]} deleted {path}", "nothing is changed; save the file to change it")


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"EDITOR is not a command: {error}", "set EDITOR to an installed editor") from None


def edit_text(text: str, name: str) -> str:
    """Return the edited text; the temporary file has this name and is private."""
    # config show does not need it.
    from tempfile import TemporaryDirectory  # noqa: PLC0415

    with TemporaryDirectory(prefix="ostler-") as folder:
        path = Path(folder) / name
        path.write_text(text, "utf-8", "replace")
        edit_file(path)
        return path.read_text("utf-8", "replace")
