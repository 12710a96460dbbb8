"""Copies the journal of a project from its file to the server that the settings name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ostler.config.live import LiveSettings
from ostler.errors import UsageError
from ostler.files.layout import Layout
from ostler.project.stores import find_store
from ostler.store.sqlite.journal import SqliteJournal
from ostler.store.sqlite.recovery.move import in_use_error, lock_place
from ostler.store.sqlite.recovery.rescue import require_no_rescue


class StoreCopy(Struct, frozen=True):
    store: str  # that has the tasks now
    kept: str  # the old file
    tasks: int
    lines: int  # of the feed
    was_complete: bool  # an earlier copy was interrupted after its end


def copy_store(layout: Layout, environ: Mapping[str, str]) -> StoreCopy:
    """Copy the journal and put the file aside; raise an OstlerError if that is not possible now.

    Everything is copied in one transaction. An interrupted copy can be repeated.
    """
    settings = LiveSettings(layout.root, environ, {}).read().settings.store
    store = find_store(layout, environ)
    if store.file is not None:
        hint = "set it first: ostler config set store.url postgresql://HOST/NAME"
        raise UsageError("store.url names no server to copy the journal to", hint)
    if not os.path.lexists(layout.database):
        raise UsageError(
            f"there is no journal to copy: {layout.database} does not exist",
            "ostler init   creates the project in the database",
        )
    from ostler.store.postgres.address import parse_address  # noqa: PLC0415  (loads psycopg)
    from ostler.store.postgres.copy import copy_journal  # noqa: PLC0415

    with lock_place(layout.state, "copied"):
        require_no_rescue(*layout.rescues)
        _require_closed(layout.database)
        copied = copy_journal(layout.database, parse_address(settings.url, settings.schema))
        kept = _put_aside(layout.database)
    return StoreCopy(store.name, str(kept), copied.tasks, copied.lines, copied.was_complete)


def _require_closed(journal: Path) -> None:
    """Raise JOURNAL_IN_USE if another process has the journal open; it would go on without the server."""
    SqliteJournal(journal).close()  # removes the log of a process that was killed
    if os.path.lexists(journal.with_name(f"{journal.name}-wal")):
        raise in_use_error(journal, "copied")


def _put_aside(journal: Path) -> Path:
    """Rename the file, so that no command without the setting adds tasks to it."""
    names = (journal.with_name(f"{journal.name}.copied{number or ''}") for number in range(1000))
    kept = next(path for path in names if not os.path.lexists(path))
    journal.rename(kept)
    return kept
