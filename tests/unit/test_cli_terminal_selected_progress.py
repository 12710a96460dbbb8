"""In a cluster a run shows its own tasks, and a worker those that it has claimed."""

from __future__ import annotations

from contextlib import nullcontext

from ostler.cli.terminal.run.selected_progress import Select, select_host, select_tasks, show_selected
from ostler.views.feed import EventJson

FEED: list[EventJson] = [
    {"type": "task_created", "task_id": "a"},
    {"type": "task_claimed", "task_id": "a", "host": "one"},
    {"type": "tool_used", "task_id": "a"},
    {"type": "task_claimed", "task_id": "b", "host": "two"},
    {"type": "tool_used", "task_id": "b"},
    {"type": "task_claimed", "task_id": "a", "host": "two"},
    {"type": "task_completed", "task_id": "a"},
]


class Recorder:
    def __init__(self) -> None:
        self.seen: list[int] = []

    def handle(self, line: EventJson, at: float) -> None:
        self.seen.append(int(at))

    def tick(self, now: float) -> None:
        self.seen.append(-1)


def shown(is_selected: Select) -> list[int]:
    recorder = Recorder()
    with show_selected(nullcontext(recorder), is_selected) as progress:
        for number, line in enumerate(FEED):
            progress.handle(line, number)
        progress.tick(0)
    return recorder.seen


def test_a_run_shows_its_own_tasks() -> None:
    """Those that it names; a run of all tasks shows everything."""
    assert shown(select_tasks(["b"])) == [3, 4, -1]
    assert shown(select_tasks([])) == [*range(7), -1]


def test_a_worker_shows_what_it_works_on() -> None:
    """From its claim until another host claims the task."""
    assert shown(select_host("one")) == [1, 2, -1]
    assert shown(select_host("two")) == [3, 4, 5, 6, -1]
