"""Progress of a part of the tasks: in a cluster the feed has those of all machines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from contextlib import AbstractContextManager, contextmanager

from ostler.cli.terminal.run.progress import Progress
from ostler.views.feed import EventJson

Select = Callable[[EventJson], bool]


def select_tasks(tasks: Collection[str]) -> Select:
    """Return a filter for the events of these tasks; of all tasks for none."""
    named = frozenset(tasks)
    return lambda line: not named or line.get("task_id") in named


def select_host(host: str) -> Select:
    """Return a filter for the events of the tasks that this host has claimed."""
    claimed: set[str] = set()

    def is_selected(line: EventJson) -> bool:
        task = line.get("task_id", "")
        if line["type"] == "task_claimed":
            (claimed.add if line.get("host") == host else claimed.discard)(task)
        return task in claimed

    return is_selected


@contextmanager
def show_selected(screen: AbstractContextManager[Progress], is_selected: Select) -> Generator[Progress]:
    """Yield the progress for the selected events."""
    with screen as progress:
        yield _SelectedProgress(progress, is_selected)


class _SelectedProgress:
    def __init__(self, progress: Progress, is_selected: Select) -> None:
        self._progress = progress
        self._is_selected = is_selected

    def handle(self, line: EventJson, at: float) -> None:
        if self._is_selected(line):
            self._progress.handle(line, at)

    def tick(self, now: float) -> None:
        self._progress.tick(now)
