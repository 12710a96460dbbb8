"""The conditions of a query about the list of tasks, with the values of their parameters."""

from __future__ import annotations

import string
from collections.abc import Iterable

from ostler.store.database import Value, number_parameters
from ostler.store.listing import TaskFilter

# Word for word that of the index `queued_tasks`, which is used only then.
IS_QUEUED = (
    "need = '' AND status NOT IN"
    " ('in_progress', 'completed', 'approved', 'failed', 'quarantined', 'cancelled', 'abandoned')"
)
# As the databases do with the columns; `lower($1)` would change other letters too, by the server's locale.
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


class Conditions:
    """Conditions that are all true; several of them can share the values of one query."""

    def __init__(self, values: list[Value] | None = None) -> None:
        self.values: list[Value] = [] if values is None else values
        self._conditions: list[str] = []

    @property
    def sql(self) -> str:
        return f"WHERE {' AND '.join(self._conditions)}"

    def add(self, condition: str, *lists: Iterable[Value]) -> None:
        """Add a condition; `{}` is replaced by the parameters of each list of values."""
        self._conditions.append(condition.format(*map(self._number, lists)))

    def add_filter(self, matching: TaskFilter) -> None:
        """Add everything that the filter asks for."""
        self.add(f"archived_at IS {'NOT ' if matching.archived else ''}NULL")
        wanted: list[str] = []
        if matching.statuses:
            wanted.append(f"{self.name_status(matching)} IN ({self._number(matching.statuses)})")
        if matching.needs:
            wanted.append(f"need IN ({self._number(matching.needs)})")
        if wanted:
            self._conditions.append(f"({' OR '.join(wanted)})")
        if matching.since:
            self.add("updated_at >= {}", [matching.since])
        if matching.text:
            like = f"%{_escape(matching.text).translate(_LOWER)}%"
            self.add("(lower(title) LIKE {0} ESCAPE '!' OR lower(id) LIKE {0} ESCAPE '!')", [like])
        if matching.pipeline:
            self.add("pipeline = {}", [matching.pipeline])
        if matching.priority:
            self.add("priority = {}", [matching.priority])

    def name_status(self, matching: TaskFilter) -> str:
        """Return the expression of the status that is listed: a task without a process is pending."""
        if not matching.without_owner:
            return "status"
        left = self._number(matching.without_owner)
        return f"CASE WHEN status = 'in_progress' AND id IN ({left}) THEN 'pending' ELSE status END"

    def _number(self, values: Iterable[Value]) -> str:
        before = len(self.values)
        self.values += values
        return number_parameters(before + 1, len(self.values) - before)


def _escape(text: str) -> str:
    for letter in "!%_":
        text = text.replace(letter, f"!{letter}")
    return text
