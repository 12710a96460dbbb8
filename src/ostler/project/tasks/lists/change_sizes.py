"""The sizes of changes, each measured once: two commits never change."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from ostler.errors import OstlerError
from ostler.git.commit.diff import read_diff_stat, read_diff_stats
from ostler.git.repository import Repository
from ostler.model.outcome import DiffStat
from ostler.model.state import State
from ostler.views.result import ChangeSize

_MOST_KEPT = 20_000

Ends = tuple[str, str]
"""The base and the last commit of a task."""


class ChangeSizes:
    """Measures the changes of tasks and keeps the sizes; used by all threads of a server."""

    def __init__(self) -> None:
        self._known: dict[Ends, ChangeSize | None] = {}
        self._lock = Lock()

    def measure(self, repository: Repository | None, states: Sequence[State]) -> list[ChangeSize | None]:
        """Return the size of each task's change; None without a commit, or if its commits are gone."""
        ends = [_find_ends(state) for state in states]
        missing = list(dict.fromkeys(one for one in ends if one and one not in self._known))
        if missing and repository is not None:
            self._read(repository, missing)
        return [self._known.get(one) if one else None for one in ends]

    def _read(self, repository: Repository, ends: Sequence[Ends]) -> None:
        try:
            found = read_diff_stats(repository, ends)
        except OstlerError:
            # A lost object ends the whole request: each change is measured alone.
            found = [_read_one(repository, pair) for pair in ends]
        sizes = dict(zip(ends, map(_to_size, found), strict=True))
        with self._lock:
            if len(self._known) > _MOST_KEPT:
                self._known.clear()
            self._known |= sizes


def _find_ends(state: State) -> Ends | None:
    return (state.base, state.commit) if state.base and state.commit else None


def _read_one(repository: Repository, ends: Ends) -> DiffStat | None:
    try:
        return read_diff_stat(repository, *ends)
    except OstlerError:
        return None


def _to_size(stat: DiffStat | None) -> ChangeSize | None:
    return stat and ChangeSize(stat.files, stat.insertions, stat.deletions)
