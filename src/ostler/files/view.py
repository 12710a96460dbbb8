"""Creates the directories of a project: private, ignored by git, and readable below .ostler."""

from __future__ import annotations

import os
from pathlib import Path

from ostler.files.atomic import make_private_dir, write_atomic
from ostler.files.disk import to_disk_error
from ostler.files.layout import Layout


def create_folders(layout: Layout) -> None:
    """Create the directories of the state and of the readable view; repair what was deleted."""
    for folder in (layout.state, layout.tasks, layout.state / "locks", layout.view, layout.worktrees):
        make_private_dir(folder)
    ignore = layout.view / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, b"*\n")
    link_tasks(layout)


def link_tasks(layout: Layout) -> None:
    """Show the tasks' files at .ostler/tasks; relative, so that a copied project shows its own."""
    link, place = layout.view / "tasks", layout.tasks
    if link == place:
        return
    target = os.path.relpath(place, os.path.realpath(layout.view))
    try:
        if link.is_symlink() and os.fspath(link.readlink()) != target:
            link.unlink()
        if not os.path.lexists(link):
            link.symlink_to(target)
    except FileExistsError:  # another process was faster
        return
    except OSError as error:
        raise to_disk_error(link, error) from error


def find_shown_state(layout: Layout) -> Path | None:
    """Return the directory of the state that the readable view leads to; it may not exist."""
    link = layout.view / "tasks"
    return Path(os.path.realpath(link)).parent if link.is_symlink() else None


def find_gone_state(layout: Layout) -> Path | None:
    """Return the directory of the state that the readable view leads to, if it or the way by .git is gone."""
    shown, link = find_shown_state(layout), layout.view / "tasks"
    return None if shown is None or (link.exists() and link != layout.tasks) else shown


def has_task_files(layout: Layout) -> bool:
    """Return whether there are files of tasks, so that a missing journal is a lost one."""
    return bool(list_task_files(layout))


def list_task_files(layout: Layout) -> list[Path]:
    """Return the directories that contain the files of a task."""
    return sorted(folder for folder in layout.tasks.glob("*") if (folder / "task.md").is_file())
