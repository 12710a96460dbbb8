"""Where a document may be written: below the directories of [documents], and never over a protected file."""

from __future__ import annotations

from pathlib import Path

from ostler.config.settings import DocumentsSettings
from ostler.errors import Code, OstlerError
from ostler.files.paths import resolve_beneath, split_beneath
from ostler.files.protected import find_protected


def check_output(root: Path, path: str, settings: DocumentsSettings) -> None:
    """Raise PATH_ESCAPE for a path at which a document may not be written; links are refused too."""
    resolve_beneath(root, path)
    parts = split_beneath(path)
    if name := find_protected(parts):
        hint = "documents never replace files of git, Ostler, agents or CI; use another path"
        raise OstlerError(
            Code.PATH_ESCAPE, f"a document must not be written to {path!r}: {name} is protected", hint
        )
    allowed = (settings.outputs, settings.context, *settings.outputs_allow)
    if not any(_is_below(parts, directory) for directory in allowed):
        hint = f"use {settings.outputs}/{parts[-1]}, or add its directory to documents.outputs_allow"
        message = f"a document must be below {', '.join(allowed)}, got {path!r}"
        raise OstlerError(Code.PATH_ESCAPE, message, hint)


def _is_below(parts: list[str], directory: str) -> bool:
    """Return whether the path is below a directory and not hidden there; "." is the whole project."""
    above = [] if directory.strip("/") == "." else split_beneath(directory)
    rest = parts[len(above) :]
    return parts[: len(above)] == above and bool(rest) and not any(part.startswith(".") for part in rest)
