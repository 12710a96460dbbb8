"""Keeps what a run cannot record because its journal is lost, in a file that `journal rebuild` reads."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import apsw

from ostler.errors import OstlerError
from ostler.files.atomic import make_private_dir
from ostler.store.sqlite.identity import lost_error, read_store_id
from ostler.store.sqlite.recovery.backup import copy_database
from ostler.store.sqlite.statement import run

_PATTERN = "rescue-*.db"
_REPLACED = ".lost"  # with a number: the end of the name of a journal that a rebuild replaced
_NUMBER = re.compile(r"\d*")


def list_rescues(*folders: Path) -> list[Path]:
    """Return the rescued journals in these directories, the newest first."""
    found = {path for folder in folders for path in folder.glob(_PATTERN)}
    files = [path for path in found if path.is_file() and not path.is_symlink()]
    return sorted(files, key=lambda path: path.stat().st_mtime, reverse=True)


def require_no_rescue(*folders: Path) -> None:
    """Raise JOURNAL_LOST if a run has left records that the journal lacks: agents would be called again."""
    for path in list_rescues(*folders):
        raise lost_error(f"{path} has records that a run could not write to the journal")


def list_replaced(journal: Path) -> list[Path]:
    """Return the journals that a rebuild replaced, which it keeps beside the new one."""
    start = f"{journal.name}{_REPLACED}"
    found = journal.parent.glob(f"{start}*")
    return sorted(path for path in found if _NUMBER.fullmatch(path.name, len(start)) and path.is_file())


def name_replaced(journal: Path, number: int) -> Path:
    """Return the path for a replaced journal."""
    return journal.with_name(f"{journal.name}{_REPLACED}{number or ''}")


def copy_lost_journal(db: apsw.Connection, store_id: str, folders: Sequence[Path]) -> Path | None:
    """Copy a lost journal through its open connection, which still reads the file; None if that fails.

    The copy is in the first of the directories that exists; the last one is created. Of a file that was
    overwritten, the connection reads only a part: such a copy is refused.
    """
    folder = next((one for one in folders if one.is_dir()), folders[-1])
    target = folder / f"rescue-{store_id}-{os.getpid()}.db"
    if not folder.parent.is_dir():
        return None  # the whole project was deleted
    try:
        make_private_dir(folder)
        copy_database(db, target, partial(_require_sound, store_id=store_id))
    except (OstlerError, apsw.Error, OSError) as error:
        import logging  # noqa: PLC0415  (every command imports this module)

        logging.getLogger(__name__).warning("the lost journal could not be copied to %s: %s", target, error)
        with suppress(OSError):
            target.unlink(missing_ok=True)
        return None
    return target


def _require_sound(copy: Path, *, store_id: str) -> None:
    with closing(apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
        if run(db, "PRAGMA quick_check(1)") != [("ok",)] or read_store_id(db) != store_id:
            raise apsw.CorruptError("a part of the journal was overwritten")
