"""Runs SQL: the only module that calls SQLite with it."""

from __future__ import annotations

from typing import Any

import apsw

Value = str | int | float | bytes | None


def run(db: apsw.Connection, sql: str, *values: Value) -> list[tuple[Any, ...]]:
    """Run one statement, or several without values, and return all rows."""
    # apsw stops several statements at the first row unless every row is fetched.
    return db.execute(sql, values or None).fetchall()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
