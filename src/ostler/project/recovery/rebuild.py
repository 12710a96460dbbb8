"""Rebuilds a lost or damaged journal: from a rescued copy, from a backup, or from the files of the tasks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from msgspec import Struct

from ostler.config.live import LiveSettings
from ostler.errors import OstlerError, UsageError
from ostler.files.atomic import make_private_dir
from ostler.files.layout import Layout
from ostler.files.lock import is_locked
from ostler.files.view import create_folders, find_gone_state, list_task_files
from ostler.model.ids import TaskId
from ostler.model.task import Task
from ostler.project.open_journal import adopt_renamed
from ostler.project.project import Project
from ostler.project.recovery.check import check_journal
from ostler.project.recovery.from_files import RebuiltTask, read_task_folder, rebuild_task
from ostler.project.recovery.numbers import follow_restored
from ostler.project.recovery.rescues import choose_rescue, set_aside
from ostler.store.backup import sync_folder
from ostler.store.identity import gone_error
from ostler.store.recovery.move import in_use_error
from ostler.store.sqlite import SqliteJournal

_NO_FILES = "no files of tasks were found"
_BESIDE = ("", "-wal", "-shm")  # a log that is left would be applied to the new file


class Rebuilt(Struct, frozen=True):
    source: str  # the copy that was used, "files", or empty: nothing had to be rebuilt
    kept: str = ""  # the old journal
    tasks: tuple[RebuiltTask, ...] = ()  # those from files
    failed: tuple[str, ...] = ()  # what could not be rebuilt
    unused: tuple[str, ...] = ()  # rescued copies with records that the journal lacks


def rebuild_journal(layout: Layout, environ: Mapping[str, str], backup: Path | None = None) -> Rebuilt:
    """Make a new journal if the present one is lost or damaged; the old file is kept."""
    _require_idle(layout)
    if not os.path.lexists(layout.database):
        adopt_renamed(layout)
    is_sound = _is_sound(layout)
    source = backup or choose_rescue(layout, sound=is_sound)
    _require_place(layout, source)
    make_private_dir(layout.state)
    part = layout.database.with_name("rebuilt.db")
    _remove(part)
    if source is not None:
        _copy(source, part)
        with Project(layout, LiveSettings(layout.root, environ, {}), SqliteJournal(part), environ) as project:
            follow_restored(project)
        kept = _install(part, layout)
        return Rebuilt(str(source), kept, unused=set_aside(layout, source))
    if is_sound:
        return Rebuilt("", unused=set_aside(layout, None))
    if not list_task_files(layout):
        return Rebuilt("", failed=(_NO_FILES,))
    create_folders(layout)
    tasks, failed = _rebuild_from_files(layout, environ, part)
    kept = _install(part, layout)
    return Rebuilt("files", kept, tuple(tasks), tuple(failed), set_aside(layout, None))


def _require_idle(layout: Layout) -> None:
    files = (file for name in ("locks", "runs") for file in (layout.state / name).glob("*"))
    if any(file.is_file() and is_locked(file) for file in files):
        raise in_use_error(layout.database, "rebuilt")


def _require_place(layout: Layout, source: Path | None) -> None:
    """Raise if the directory of the state is gone and there is no copy, or no place for its tasks."""
    gone = find_gone_state(layout)
    if gone is not None and (source is None or layout.tasks.is_symlink()) and not layout.database.exists():
        raise gone_error(gone)


def _is_sound(layout: Layout) -> bool:
    return not any(one.kind in ("file", "records") for one in check_journal(layout).findings)


def _copy(source: Path, part: Path) -> None:
    if not source.is_file():
        raise UsageError(f"no file {source}", "name a backup: ostler journal backup makes one")
    with SqliteJournal(source) as journal:
        journal.copy_to(part)
    SqliteJournal(part).close()  # a backup of an older version is upgraded


def _rebuild_from_files(
    layout: Layout, environ: Mapping[str, str], part: Path
) -> tuple[list[RebuiltTask], list[str]]:
    done: list[RebuiltTask] = []
    tasks, failed = _read_tasks(layout)
    live = LiveSettings(layout.root, environ, {})
    with Project(layout, live, SqliteJournal(part, create=True), environ) as project:
        for task in _order(tasks):
            try:
                done.append(rebuild_task(project, task, layout.task(task.id)))
            except OstlerError as error:
                failed.append(f"{task.id}: {error.message.splitlines()[0]}")
    return done, failed


def _read_tasks(layout: Layout) -> tuple[dict[TaskId, Task], list[str]]:
    """Return the readable tasks, the oldest file first, and why others are not readable."""
    tasks: dict[TaskId, Task] = {}
    failed: list[str] = []
    for folder in sorted(list_task_files(layout), key=lambda folder: (folder / "task.md").stat().st_mtime):
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


def _install(part: Path, layout: Layout) -> str:
    """Put the new journal in its place; the old one and its log are renamed."""
    aside = _find_free(layout.database)
    for end in _BESIDE:
        if _exists(layout.database, end):
            Path(f"{layout.database}{end}").rename(f"{aside}{end}")
    part.rename(layout.database)
    sync_folder(layout.state)
    return str(aside) if aside.exists() else ""  # a deleted journal leaves only its log


def _exists(path: Path, end: str) -> bool:
    return os.path.lexists(f"{path}{end}")


def _find_free(path: Path) -> Path:
    names = (path.with_name(f"{path.name}.lost{number or ''}") for number in range(1000))
    return next(name for name in names if not any(_exists(name, end) for end in _BESIDE))


def _remove(part: Path) -> None:
    for end in _BESIDE:
        Path(f"{part}{end}").unlink(missing_ok=True)
