"""What a PostgreSQL server and the tables of a project are, for `ostler cluster doctor`; changes nothing."""

from __future__ import annotations

import time

import psycopg
from msgspec import Struct

from ostler.store.busy import StopRequest
from ostler.store.postgres.address import Address
from ostler.store.postgres.connection import NoAnswer, connect
from ostler.store.postgres.errors import connect_error, translate
from ostler.store.postgres.schema import newest_version, read_identity

_LOCK_SECONDS = 5.0


class StoreFacts(Struct, frozen=True):
    server_version: str
    answer_seconds: float
    ahead_seconds: float  # of the server's clock to that of this machine
    store_id: str  # empty: the schema has no tables of Ostler yet
    version: int  # of the tables
    works_with: int  # the oldest version of a program that can use the tables
    newest: int  # the version that this program makes of them


def read_store(address: Address) -> StoreFacts:
    """Return the facts about a store; raise an OstlerError if it cannot be used."""
    try:
        connection = connect(address, StopRequest(), _LOCK_SECONDS)
    except (psycopg.OperationalError, NoAnswer) as error:
        raise connect_error(address, error) from error
    try:
        began, sent = time.monotonic(), time.time()
        rows = connection.run_script(
            "SELECT current_setting('server_version'), extract(epoch FROM clock_timestamp())"
        )
        answer_seconds = time.monotonic() - began
        version, now = rows[0][0]
        found = read_identity(connection)
    except (psycopg.Error, NoAnswer) as error:
        raise translate(address, error) or error from error
    finally:
        connection.close()
    return StoreFacts(
        server_version=str(version).partition(" ")[0],
        answer_seconds=answer_seconds,
        ahead_seconds=float(now) - (sent + answer_seconds / 2),
        store_id=found.store_id if found else "",
        version=found.version if found else 0,
        works_with=found.works_with if found else 0,
        newest=newest_version(),
    )
