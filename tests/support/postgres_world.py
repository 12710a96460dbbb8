"""Stores of tests in a PostgreSQL server: each has a schema of its own."""

from __future__ import annotations

from itertools import count

from servers.postgres import PostgresServer

from ostler.store.postgres.address import Address, parse_address
from ostler.store.postgres.schema import COPIED
from ostler.store.postgres.store import PostgresStore

_numbers = count(1)
_SHARED = "shared"


def new_address(server: PostgresServer) -> Address:
    """Return the address of a schema that does not exist yet."""
    return parse_address(server.url(), f"test_{next(_numbers)}")


def new_store(server: PostgresServer) -> PostgresStore:
    """Return a store whose tables are created."""
    store = PostgresStore(new_address(server))
    store.open_journal(create=True).close()
    return store


def empty_store(server: PostgresServer) -> PostgresStore:
    """Return the one store that many tests use after each other; faster than new tables, of 60 files."""
    store = PostgresStore(parse_address(server.url(), _SHARED))
    with store.open_journal(create=True) as journal, journal.transaction():
        for table in (*COPIED, "writer"):
            journal._db.run(f"DELETE FROM {table}")
        journal._db.run("ALTER TABLE feed ALTER COLUMN position RESTART")
    return store


def create_tables(url: str, schema: str = "ostler") -> None:
    """Create the tables of a project, as `ostler init` does."""
    PostgresStore(parse_address(url, schema)).open_journal(create=True).close()
