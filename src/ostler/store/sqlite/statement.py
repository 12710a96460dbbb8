"""Runs SQL: the only module that calls SQLite with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from ostler.store.database import Value


def run(db: apsw.Connection, sql: str, *values: Value) -> list[tuple[Any, ...]]:
    """Run one statement, or several without values, and return all rows."""
    # apsw stops several statements at the first row unless every row is fetched.
    return db.execute(sql, values or None).fetchall()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def run_each(db: apsw.Connection, sql: str, rows: Sequence[tuple[Value, ...]]) -> None:
    """Run one statement for each of these rows of values."""
    db.executemany(sql, rows)  # pyright: ignore[reportUnknownMemberType]
