"""The path of a project's journal."""

from __future__ import annotations

from pathlib import Path

from ostler.files.layout import Layout


def journal_path(root: Path) -> Path:
    """Return where the journal of the project in this directory is."""
    return Layout(root).database
