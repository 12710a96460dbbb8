"""Checks the journal: the file, its identity, the records of each task, and the files beside it."""

from __future__ import annotations

import os

import msgspec
from msgspec import Struct

from ostler.engine.core.evolve import OutOfOrder, fold
from ostler.errors import OstlerError
from ostler.files.layout import JOURNAL, Layout
from ostler.files.view import list_task_files
from ostler.model.attempt import TaskRow
from ostler.model.ids import TaskId
from ostler.model.rows import decode_state, is_purged
from ostler.store.sqlite.identity import find_home
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.recovery.rescue import list_rescues

_REBUILD = "ostler journal rebuild"
_UNKNOWN = "ostler journal rebuild   adds it; or move it away"


class Finding(Struct, frozen=True):
    """Something that is wrong with the journal, and what to do about it."""

    kind: str  # file, identity, records or files
    message: str
    next_step: str = ""


class JournalCheck(Struct, frozen=True):
    path: str
    id: str = ""
    tasks: int = 0
    records: int = 0
    findings: tuple[Finding, ...] = ()


def check_journal(layout: Layout) -> JournalCheck:
    """Check everything that can be checked without changing the journal."""
    path = str(layout.database)
    beside = _check_beside(layout)
    if not os.path.lexists(layout.database):
        missing = Finding("file", f"the journal {path} does not exist", _REBUILD)
        return JournalCheck(path, findings=(missing, *beside))
    try:
        with SqliteJournal(layout.database, check_up_to=0) as journal:
            rows, damage = journal.rows(), journal.find_damage()
            records, unfolded = _check_records(journal, rows)
            findings = [Finding("file", f"the file is damaged: {text}", _REBUILD) for text in damage]
            findings += [*_check_identity(journal, layout), *unfolded, *_check_files(layout, rows), *beside]
            return JournalCheck(path, journal.store_id, len(rows), records, tuple(findings))
    except OstlerError as error:
        unreadable = Finding("file", error.message, error.hint)
        return JournalCheck(path, findings=(unreadable, *beside))


def _check_identity(journal: SqliteJournal, layout: Layout) -> list[Finding]:
    home, here = journal.read_home(), find_home(layout.root, layout.database)
    if home.directory not in ("", here.directory):
        message = f"the journal belongs to the project in {home.directory}"
    elif home.file not in ("", here.file):
        message = "the journal is a copy of another file"
    else:
        return []
    return [Finding("identity", message, "ostler status   records this place, with a new id for a copy")]


def _check_records(journal: SqliteJournal, rows: list[TaskRow]) -> tuple[int, list[Finding]]:
    """Fold the records of each task, and compare the result with the stored state."""
    count, findings = 0, list[Finding]()
    for row in rows:
        try:
            records = journal.read(row.id)
            count += len(records)
            found = fold(records) if records else None
            stored = decode_state(row)
        except (OutOfOrder, OstlerError, msgspec.MsgspecError) as error:
            findings.append(Finding("records", f"the records of {row.id} cannot be read: {error}", _REBUILD))
            continue
        if found is None or (found.seq, found.status) != (stored.seq, stored.status):
            result = "no records" if found is None else f"records that lead to {found.status} ({found.seq})"
            text = f"{row.id} is stored as {stored.status} ({stored.seq}), but has {result}"
            findings.append(Finding("records", text, _REBUILD))
    return count, findings


def _check_files(layout: Layout, rows: list[TaskRow]) -> list[Finding]:
    """Find files of tasks that the journal does not have, and tasks without files."""
    recorded, kept = {row.id for row in rows}, {TaskId(path.name) for path in list_task_files(layout)}
    purged = {row.id for row in rows if is_purged(row)}
    unknown = [
        Finding("files", f"{layout.shown_task(task)} belongs to no task of the journal", _UNKNOWN)
        for task in sorted(kept - recorded)
    ]
    missing = [
        Finding("files", f"the files of {task} are missing in {layout.shown_task(task)}")
        for task in sorted(recorded - kept - purged)
    ]
    return unknown + missing


def _check_beside(layout: Layout) -> list[Finding]:
    """Find other journals of the project."""
    rescued = [
        Finding("files", f"{path} has records that a run could not write", _REBUILD)
        for path in list_rescues(*layout.rescues)
    ]
    old = layout.view / JOURNAL
    if old == layout.database or not os.path.lexists(old):
        return rescued
    return [*rescued, Finding("files", f"an older journal is in {old}", "ostler status   moves it")]
