"""The path of a project's journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ostler.files.layout import Layout


def journal_path(root: Path) -> Path:
    """Return where the journal of the project in this directory is."""
    return _layout(root).database


def restore_old_layout(root: Path) -> Path:
    """Put the state of a project where older versions had it, in .ostler, and return the journal."""
    layout = _layout(root)
    (layout.view / "tasks").unlink()
    for entry in list(layout.state.iterdir()):
        entry.rename(layout.view / entry.name)
    layout.state.rmdir()
    return layout.view / layout.database.name


def _layout(root: Path) -> Layout:
    # tests/conftest.py imports this module, and a mutant of the package must fail in a test, not there.
    from ostler.files.layout import Layout

    return Layout(root)
