"""The person's own editor, in this terminal."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from ostler.errors import UsageError
from ostler.process.foreground import run_in_foreground


def edit_file(path: Path) -> None:
    """Open it and wait until the editor ends; raises UsageError when it cannot be used."""
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    if run_in_foreground([*editor, str(path)]) != 0:
        raise UsageError(f"{editor[0]} could not edit {path}", "set EDITOR to an editor that you have")


def edit_text(text: str, name: str) -> str:
    """The text as the person leaves it, in a file of this name that nobody else can read."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415  (config show has no use for it)

    with TemporaryDirectory(prefix="ostler-") as folder:
        path = Path(folder) / name
        path.write_text(text, "utf-8", "replace")
        edit_file(path)
        return path.read_text("utf-8", "replace")
