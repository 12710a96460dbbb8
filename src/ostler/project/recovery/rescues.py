"""Chooses the rescued copy that replaces a journal: only one that loses no record of a readable journal."""

from __future__ import annotations

from pathlib import Path

from ostler.engine.task_files import is_state_file_current
from ostler.errors import OstlerError, UsageError
from ostler.files.layout import Layout
from ostler.files.view import list_task_files
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.recovery.rescue import list_replaced, list_rescues

_Records = frozenset[tuple[str, int, float]]


def choose_rescue(layout: Layout, *, sound: bool) -> Path | None:
    """Return the rescued copy with the most records; None if the journal has all records of every copy.

    Raises UsageError if a readable journal and a copy both have records that the other lacks.
    """
    copies = list_rescues(*layout.rescues)
    if not sound:
        copies += [path for path in list_replaced(layout.database) if _is_up_to_date(path, layout)]
    found = {path: _read_records(path) for path in copies}
    readable = {path: records for path, records in found.items() if records is not None}
    present = _read_records(layout.database) if sound else None
    if present is None:
        return max(readable, key=lambda path: len(readable[path]), default=None)
    newer = {path: records for path, records in readable.items() if not records <= present}
    complete = [path for path, records in newer.items() if present <= records]
    if newer and not complete:
        raise _conflict_error(layout.database, next(iter(newer)))
    return max(complete, key=lambda path: len(newer[path]), default=None)


def _conflict_error(journal: Path, copy: Path) -> UsageError:
    return UsageError(
        f"the journal {journal} and the rescued copy {copy} each have records that the other lacks",
        f"choose one: ostler journal rebuild --from {journal}   or   --from {copy}",
    )


def set_aside(layout: Layout, source: Path | None) -> tuple[str, ...]:
    """Rename the rescued copies; return the new names of those that have records the journal lacks."""
    present = _read_records(layout.database) or frozenset()
    unused: list[str] = []
    for path in list_rescues(*layout.rescues):
        records = _read_records(path)
        kept = path.with_name(f"{path.name}.used")
        path.rename(kept)
        if path != source and (records is None or not records <= present):
            unused.append(str(kept))
    return tuple(unused)


def _is_up_to_date(path: Path, layout: Layout) -> bool:
    """Return whether a replaced journal has the state of all files of tasks; an old one would undo work."""
    try:
        with SqliteJournal(path) as journal:
            rows = {row.id: row for row in journal.rows()}
    except OstlerError:
        return False
    folders = list_task_files(layout)
    return all(
        folder.name in rows and is_state_file_current(decode_state(rows[TaskId(folder.name)]), layout)
        for folder in folders
    )


def _read_records(path: Path) -> _Records | None:
    """Return what identifies the records of a journal; None if it cannot be read."""
    try:
        with SqliteJournal(path) as journal:
            if journal.find_damage():
                return None
            found = (record for row in journal.rows() for record in journal.read(row.id))
            return frozenset((record.task, record.seq, record.at) for record in found)
    except OstlerError:
        return None
