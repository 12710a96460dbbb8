"""Copies the journal of a project from SQLite into PostgreSQL: all of it, or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from msgspec import Struct

from ostler.errors import OstlerError, UsageError
from ostler.files.failpoint import reach
from ostler.store.busy import StopRequest
from ostler.store.postgres.address import Address
from ostler.store.postgres.connection import Connection, NoAnswer, connect
from ostler.store.postgres.errors import connect_error, is_lost, translate
from ostler.store.postgres.schema import COPIED, create_tables, read_identity
from ostler.store.sqlite.database import SqliteDatabase

_LOCK_SECONDS = 5.0
_BYTES = ("body", "state")  # columns of bytes
_SELECT_COLUMNS = "SELECT name FROM pragma_table_info($1)"
_SELECT_SEQUENCE = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'feed'"
_SELECT_LAST = "SELECT position, task, at, body FROM feed ORDER BY position DESC LIMIT 1"
_SELECT_LINE = "SELECT position, task, at, body FROM feed WHERE position = $1"
_UPDATE_STORE_ID = "UPDATE identity SET store_id = $1, changes = changes + 1"
_SET_POSITION = "SELECT setval(pg_get_serial_sequence('feed', 'position'), $1)"


class Copied(Struct, frozen=True):
    """What was copied; nothing if an earlier copy was complete."""

    tasks: int = 0
    lines: int = 0  # of the feed
    position: int = 0  # of its last line
    was_complete: bool = False


def copy_journal(source: Path, address: Address) -> Copied:
    """Copy the journal into the schema, which has no tasks; raises UsageError if it has some.

    The id of the store and the positions of the feed stay the same. The source is locked meanwhile.
    """
    with closing(SqliteDatabase(source)) as db, db.transaction(), closing(_connect(address)) as connection:
        try:
            with connection.long_transaction():
                return _copy(db, connection, address)
        except (psycopg.Error, NoAnswer) as error:
            raise _translate(address, error) from error


def _copy(db: SqliteDatabase, connection: Connection, address: Address) -> Copied:
    connection.run_script(
        f"SET LOCAL idle_in_transaction_session_timeout TO 0;SELECT pg_advisory_xact_lock({address.lock_key})"
    )
    store_id = str(db.query("SELECT store_id FROM identity")[0][0])
    last = int(db.query(_SELECT_SEQUENCE)[0][0])
    found = read_identity(connection)
    if found is None:
        create_tables(connection, address)
    elif _has_rows(connection):
        if found.store_id == store_id:
            _require_nothing_new(db, connection, address)
            return Copied(position=last, was_complete=True)
        raise UsageError(
            f"the schema {address.schema} of {address} already has tasks of another project",
            "name another schema: ostler config set store.schema NAME",
        )
    counts = {table: _copy_table(db, connection, table) for table in COPIED}
    connection.execute(_UPDATE_STORE_ID, [store_id])
    if last:
        connection.execute(_SET_POSITION, [last])
    reach("store.copy")
    return Copied(counts["task"], counts["feed"], last)


def _require_nothing_new(db: SqliteDatabase, connection: Connection, address: Address) -> None:
    """Raise UsageError if the file was used after an earlier copy, so that the server lacks its last line."""
    for line in db.query(_SELECT_LAST):
        if connection.cursor(binary=True).execute(_SELECT_LINE.encode(), [line[0]]).fetchall() != [line]:
            raise UsageError(
                f"{db.path} was copied to {address} before, and has changed since",
                "copy it to another schema; or rename the file, to go on without its changes",
            )


def _copy_table(db: SqliteDatabase, connection: Connection, table: str) -> int:
    """Copy all rows of a table and return their number, as the server counts them."""
    columns = [str(name) for (name,) in db.query(_SELECT_COLUMNS, table)]
    names = ", ".join(f'"{name}"' for name in columns)
    with connection.cursor().copy(f"COPY {table} ({names}) FROM STDIN".encode()) as copy:
        for row in _read_rows(db, f"SELECT {names} FROM {table}"):  # noqa: S608  (names of our own tables)
            copy.write_row([_adapt(name, value) for name, value in zip(columns, row, strict=True)])
    return connection.run_script(f"SELECT count(*) FROM {table}")[0][0][0]  # noqa: S608


def _read_rows(db: SqliteDatabase, sql: str) -> Iterator[tuple[Any, ...]]:
    # A cursor, as the feed of a large project does not fit into memory.
    yield from db.connection.execute(sql)  # pyright: ignore[reportUnknownMemberType]


def _adapt(column: str, value: Any) -> Any:
    if column in _BYTES:
        return value.encode() if isinstance(value, str) else value
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


def _has_rows(connection: Connection) -> bool:
    found = connection.run_script("SELECT EXISTS (SELECT 1 FROM feed) OR EXISTS (SELECT 1 FROM task)")
    return bool(found[0][0][0])


def _connect(address: Address) -> Connection:
    try:
        return connect(address, StopRequest(), _LOCK_SECONDS)
    except (psycopg.OperationalError, NoAnswer) as error:
        raise connect_error(address, error) from error


def _translate(address: Address, error: psycopg.Error | NoAnswer) -> Exception:
    translated: OstlerError | None = translate(address, error)
    return translated or (connect_error(address, error) if is_lost(error) else error)
