"""The interface of a database that contains the store of a project; for one thread.

The SQL above it is written once, for all databases. Parameters are `$1`, `$2` and so on, and appear first in
this order, because SQLite numbers them so; a list is `IN ($1, $2)` with `number_parameters`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ostler.store.busy import StopRequest

Value = str | int | float | bytes | None

MAX_LIST = 10_000
"""The most values of one list in a statement: databases limit the number of parameters."""


class Database(Protocol):
    """Runs SQL; its errors are OstlerErrors."""

    wait_seconds: float
    """How long a write waits for another process, with a printed line; after the short wait of each write."""

    @property
    def stop(self) -> StopRequest:
        """Ends the waits."""
        ...

    @property
    def clock_offset(self) -> float:
        """The seconds by which the clock of the database is ahead; 0 for a database of this machine."""
        ...

    @property
    def machine(self) -> str:
        """The machine that ran the tasks without a cluster when it was read last; empty: this one, or any."""
        ...

    @property
    def in_transaction(self) -> bool: ...

    def query(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        """Return the rows of a statement that only reads, inside a transaction or outside."""
        ...

    def run(self, sql: str, *values: Value) -> list[tuple[Any, ...]]:
        """Run a statement inside a transaction and return its rows."""
        ...

    def run_each(self, sql: str, rows: Sequence[tuple[Value, ...]]) -> None:
        """Run a statement inside a transaction for each of these rows of values."""
        ...

    def change(self, sql: str, *values: Value) -> int:
        """Run a statement inside a transaction and return how many rows it changed."""
        ...

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """Commit everything that is written inside; roll back on an error.

        A power cut can undo a transaction that is not durable, until the next durable one has ended.
        Only one transaction of a project is open at a time: what it reads does not change until it ends.
        """
        ...

    def require_present(self) -> None:
        """Raise JOURNAL_LOST if this is no longer the store that was opened."""
        ...

    def version(self) -> int:
        """Return a number that changes when another connection writes."""
        ...

    def close(self) -> None:
        """Close the connection; closing twice is allowed."""
        ...


def number_parameters(first: int, count: int) -> str:
    """Return the parameters of a list, which must not be empty: `$3, $4` for the first 3 and the count 2."""
    return ", ".join(f"${number}" for number in range(first, first + count))
