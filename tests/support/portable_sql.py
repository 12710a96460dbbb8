"""Whether a statement is written for all databases that can contain a store."""

from __future__ import annotations

import re

SQLITE_ONLY = re.compile(
    r"json_each|json_extract|INDEXED BY|\biif\(|\btotal\(|\bchar\(|INSERT OR|data_version|BEGIN|PRAGMA|\?"
    r"|ON CONFLICT DO UPDATE|\bopen = \d",
    re.IGNORECASE,
)


def find_problem(sql: str) -> str:
    """Return why a statement is not for all databases; empty when it is."""
    if found := SQLITE_ONLY.search(sql):
        return f"{found[0]!r} is only for SQLite"
    first = list(dict.fromkeys(int(number) for number in re.findall(r"\$(\d+)", sql)))
    # SQLite numbers parameters by their first appearance, PostgreSQL by their number.
    return "" if first == list(range(1, len(first) + 1)) else f"parameters appear in the order {first}"
