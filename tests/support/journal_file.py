"""The path of a project's journal."""

from __future__ import annotations

from pathlib import Path

from ostler.files.layout import Layout


def journal_path(root: Path) -> Path:
    """Return where the journal of the project in this directory is."""
    return Layout(root).database


def restore_old_layout(root: Path) -> Path:
    """Put the state of a project where older versions had it, in .ostler, and return the journal."""
    layout = Layout(root)
    (layout.view / "tasks").unlink()
    for entry in list(layout.state.iterdir()):
        entry.rename(layout.view / entry.name)
    layout.state.rmdir()
    return layout.view / layout.database.name
