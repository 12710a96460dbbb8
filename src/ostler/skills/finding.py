"""A place in a skill that a check reports."""

from __future__ import annotations

from msgspec import Struct


class LintFinding(Struct, frozen=True):
    """One reported place."""

    path: str
    line: int  # 0: the whole file
    what: str
    count: int  # occurrences in this file

    def __str__(self) -> str:
        more = f" ({self.count} times)" if self.count > 1 else ""
        line = f":{self.line}" if self.line else ""
        return f"{self.path}{line}: {self.what}{more}"
