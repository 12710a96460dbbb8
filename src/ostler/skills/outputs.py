"""Where a document may be written, and whether it is the answer of the agent or a file that it writes."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from ostler.config.settings import DocumentsSettings
from ostler.errors import Code, OstlerError, UsageError
from ostler.files.paths import resolve_beneath, split_beneath
from ostler.files.protected import find_protected

_ANSWERS = frozenset({"", ".md", ".markdown"})
_TEXTS = frozenset(
    {
        *(".txt", ".rst", ".adoc", ".org", ".tex", ".html", ".htm", ".xml", ".svg", ".css", ".js", ".py"),
        *(".json", ".jsonl", ".yaml", ".yml", ".toml", ".csv", ".tsv", ".sql", ".mdx", ".eml", ".ics"),
    }
)


def is_always_answer(path: str) -> bool:
    """Return whether a document is the answer of the agent, even if the agent writes a file too."""
    return _suffix(path) in _ANSWERS


def is_always_file(path: str) -> bool:
    """Return whether a document is a file that the agent writes: no answer can be a .docx or .pdf."""
    return _suffix(path) not in _ANSWERS | _TEXTS


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.lower()


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
    if path.endswith("/") or (root / path).is_dir() or "/".join(parts) in allowed:
        raise UsageError(f"the output {path!r} is a directory", f"name the file: {'/'.join(parts)}/NAME.md")
    if not any(_is_below(parts, directory) for directory in allowed):
        hint = f"use {settings.outputs}/{parts[-1]}, or add its directory to documents.outputs_allow"
        message = f"a document must be below {', '.join(allowed)}, got {path!r}"
        raise OstlerError(Code.PATH_ESCAPE, message, hint)


def _is_below(parts: list[str], directory: str) -> bool:
    """Return whether the path is below a directory and not hidden there; "." is the whole project."""
    above = [] if directory.strip("/") == "." else split_beneath(directory)
    rest = parts[len(above) :]
    return parts[: len(above)] == above and bool(rest) and not any(part.startswith(".") for part in rest)
