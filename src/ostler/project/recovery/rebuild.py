"""Rebuilds a lost or damaged journal: from a rescued copy, from a backup, or from the files of the tasks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from msgspec import Struct

from ostler.config.live import LiveSettings
from ostler.errors import OstlerError
from ostler.files.atomic import make_private_dir
from ostler.files.layout import Layout
from ostler.files.lock import is_locked
from ostler.files.view import create_folders, find_gone_state, list_task_files
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.project.recovery.check import check_journal
from ostler.project.recovery.from_files import RebuiltTask, read_task_folder, rebuild_task, restore_files
from ostler.project.recovery.install import install_journal, remove_journal
from ostler.project.recovery.numbers import follow_restored
from ostler.project.recovery.origin import require_backup
from ostler.project.recovery.rescues import choose_rescue, set_aside
from ostler.store.sqlite.identity import gone_error, require_not_copied
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.project_file import adopt_renamed
from ostler.store.sqlite.recovery.home import keep_id
from ostler.store.sqlite.recovery.move import in_use_error, lock_place
from ostler.store.sqlite.recovery.rescue import list_rescues

_NO_FILES = "no files of tasks were found"
_PART = "rebuilt.db"  # the new journal until it is complete


class Rebuilt(Struct, frozen=True):
    source: str  # the copy that was used, "files", or empty: the journal was not replaced
    kept: str = ""  # the old journal
    tasks: tuple[RebuiltTask, ...] = ()  # those from files, also beside a copy
    failed: tuple[str, ...] = ()  # what could not be rebuilt
    unused: tuple[str, ...] = ()  # rescued copies with records that the journal lacks


def rebuild_journal(
    layout: Layout, environ: Mapping[str, str], backup: Path | None = None, *, foreign: bool = False
) -> Rebuilt:
    """Make a new journal if the present one is lost or damaged; the old file is kept.

    With `foreign`, the backup may belong to another project.
    """
    _require_idle(layout)
    if not os.path.lexists(layout.database):
        adopt_renamed(layout)
    if backup is None:
        require_not_copied(layout.database)
    _require_place(layout, backup)
    make_private_dir(layout.state)
    with lock_place(layout.state, "rebuilt"):
        sound = _is_sound(layout)
        if backup is not None:
            require_backup(backup, layout, foreign=foreign)
        source = backup or choose_rescue(layout, sound=sound)
        if source is None and not sound and not list_task_files(layout):
            return Rebuilt("", failed=(_NO_FILES,))
        create_folders(layout)
        if source is None and sound:
            return _complete(layout, environ)
        return _replace(layout, environ, source, sound=sound)


def _replace(layout: Layout, environ: Mapping[str, str], source: Path | None, *, sound: bool) -> Rebuilt:
    """Make a journal of this copy and of the files of the tasks, and put it in its place."""
    part = layout.database.with_name(_PART)
    remove_journal(part)  # of a killed rebuild
    if source is not None:
        _copy(source, part)
    live = LiveSettings(layout.root, environ, {})
    journal = SqliteJournal(part, create=source is None)
    with Project(layout, live, journal, environ) as project:
        if source is not None:
            follow_restored(project)
        tasks, failed = _add_from_files(project)
        restore_files(project)
        keep_id(journal, layout)
    kept = install_journal(part, layout, sound=sound)
    origin = str(source) if source is not None else "files"
    return Rebuilt(origin, kept, tuple(tasks), tuple(failed), set_aside(layout, source))


def _complete(layout: Layout, environ: Mapping[str, str]) -> Rebuilt:
    """Add tasks that have files, but no record, to a sound journal, and write the files of the others."""
    live = LiveSettings(layout.root, environ, {})
    with Project(layout, live, SqliteJournal(layout.database), environ) as project:
        tasks, failed = _add_from_files(project)
        restore_files(project)
    return Rebuilt("", "", tuple(tasks), tuple(failed), set_aside(layout, None))


def _require_idle(layout: Layout) -> None:
    files = (file for name in ("locks", "runs") for file in (layout.state / name).glob("*"))
    if any(file.is_file() and is_locked(file) for file in files):
        raise in_use_error(layout.database, "rebuilt")


def _require_place(layout: Layout, backup: Path | None) -> None:
    """Raise if the directory of the state is gone and there is no copy, or no place for its tasks."""
    gone, has_copy = find_gone_state(layout), backup is not None or bool(list_rescues(*layout.rescues))
    if gone is not None and (not has_copy or layout.tasks.is_symlink()) and not layout.database.exists():
        raise gone_error(gone)


def _is_sound(layout: Layout) -> bool:
    return not any(one.kind in ("file", "records") for one in check_journal(layout).findings)


def _copy(source: Path, part: Path) -> None:
    with SqliteJournal(source) as journal:
        journal.copy_to(part)
    SqliteJournal(part).close()  # a backup of an older version is upgraded


def _add_from_files(project: Project) -> tuple[list[RebuiltTask], list[str]]:
    """Add the tasks that have files, but are not in the journal; return them, and why others failed."""
    done: list[RebuiltTask] = []
    tasks, failed = _read_tasks(project)
    for task in _order(tasks):
        try:
            done.append(rebuild_task(project, task, project.layout.task(task.id)))
        except OstlerError as error:
            failed.append(f"{task.id}: {error.message.splitlines()[0]}")
    return done, failed


def _read_tasks(project: Project) -> tuple[dict[TaskId, Task], list[str]]:
    """Return the unrecorded tasks, the oldest file first, and why some are not readable."""
    tasks: dict[TaskId, Task] = {}
    failed: list[str] = []
    recorded = {row.id for row in project.journal.rows()}
    unrecorded = (one for one in list_task_files(project.layout) if one.name not in recorded)
    folders = [one for one in unrecorded if project.find_removal(TaskId(one.name)) is None]
    for folder in sorted(folders, key=lambda folder: (folder / "task.md").stat().st_mtime):
        try:
            tasks[TaskId(folder.name)] = read_task_folder(folder)
        except OstlerError as error:
            failed.append(f"{folder.name}: {error.message.splitlines()[0]}")
    return tasks, failed


def _order(tasks: dict[TaskId, Task]) -> list[Task]:
    """Return each task after those that it depends on."""
    graph = {name: [one for one in task.after if one in tasks] for name, task in tasks.items()}
    try:
        return [tasks[name] for name in TopologicalSorter(graph).static_order()]
    except CycleError:  # a person wrote it into the files; the tasks lose these dependencies
        return list(tasks.values())
