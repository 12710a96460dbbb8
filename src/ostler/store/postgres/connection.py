"""A connection to PostgreSQL whose waits are bounded and reported."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg import RawCursor

from ostler.store.busy import StopRequest
from ostler.store.postgres.address import Address
from ostler.waits import Wait

STATEMENT_SECONDS = 30  # then the server cancels a statement
ANSWER_SECONDS = 35  # then the server itself hangs, or the network is cut
LONG_SECONDS = 3600  # of a migration or a copy, which rewrite whole tables
IDLE_SECONDS = 3  # a transaction of a stopped or cut process is rolled back: it holds the lock of the project
_INTERVAL = 0.1  # seconds between two looks of psycopg

_T = TypeVar("_T")
Rows = list[tuple[Any, ...]]


class NoAnswer(Exception):
    """The server did not answer a statement in time; its result is unknown."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """Runs one statement at a time; raises NoAnswer when the server hangs."""

    stop: StopRequest
    describe: Callable[[], str]
    answer_seconds: float

    @contextmanager
    def long_transaction(self) -> Generator[None]:
        """Begin a transaction whose statements may take an hour; commit it, or roll back on an error."""
        self.answer_seconds = LONG_SECONDS
        try:
            with self.transaction():
                self.run_script(f"SET LOCAL statement_timeout TO {LONG_SECONDS * 1000}")
                yield
        finally:
            self.answer_seconds = ANSWER_SECONDS

    def wait(self, gen: Generator[Any, Any, _T], *args: Any, **kwargs: Any) -> _T:
        # psycopg looks every 0.1 s for an interrupt, with a ready state of 0.
        return super().wait(self._watch(gen), *args, **kwargs)

    def _watch(self, gen: Generator[Any, Any, _T]) -> Generator[Any, Any, _T]:
        wait: Wait | None = None
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready:
                    wait = wait or Wait(self.describe, self.answer_seconds, waited_seconds=_INTERVAL)
                    if self.stop.is_over() or not wait.check():
                        raise NoAnswer
                wanted = gen.send(ready)
        except StopIteration as end:
            if wait is not None:
                wait.finish()
            return end.value

    def run_script(self, sql: str) -> list[Rows]:
        """Run statements without values in one round trip; return the rows of each."""
        cursor = self.cursor()
        cursor.execute(sql.encode(), prepare=False)
        results: list[Rows] = []
        while True:
            results.append(cursor.fetchall() if cursor.description else [])
            if not cursor.nextset():
                return results


def connect(address: Address, stop: StopRequest, lock_seconds: float) -> Connection:
    """Return a connection in autocommit mode that finds the tables of the project; raises psycopg.Error."""
    connection = Connection.connect(address.conninfo, autocommit=True, cursor_factory=RawCursor)
    connection.stop, connection.answer_seconds = stop, ANSWER_SECONDS
    connection.describe = lambda: f"waiting for {address}: it does not answer"
    try:
        connection.run_script(
            f"SET search_path TO {address.quoted_schema};"
            f"SET statement_timeout TO {STATEMENT_SECONDS * 1000};"
            f"SET lock_timeout TO {max(1, int(lock_seconds * 1000))};"
            f"SET idle_in_transaction_session_timeout TO {IDLE_SECONDS * 1000};"
            # The server, too, notices that a peer is gone.
            "SET tcp_keepalives_idle TO 5; SET tcp_keepalives_interval TO 5; SET tcp_keepalives_count TO 4;"
            "SET default_transaction_isolation TO 'read committed';"
            "SET synchronous_commit TO on"
        )
    except BaseException:
        connection.close()
        raise
    return connection
