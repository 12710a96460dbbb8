"""What happens to tasks whose human gate waits too long."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from ostler.project.project import Project
from ostler.project.running.review_timeouts import apply_review_timeouts
from ostler.store.sql_journal import SqlJournal
from world import World

REMINDS = """
[gates]
human_timeout_seconds = 60
human_timeout_action = "remind"
[gates.phases]
implement = "human"
"""


def test_two_workers_remind_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both find that the task is late; a period has one reminder."""
    (world.root / "ostler.toml").write_text(REMINDS)
    task = world.new()
    world.ostler("run", task, code=4)
    both, read = threading.Barrier(2), SqlJournal.last_notice

    def last_notice(self: SqlJournal, *args: Any) -> float:
        found = read(self, *args)
        with suppress(threading.BrokenBarrierError):
            both.wait(0.5)
        return found

    def remind(_: int) -> list[str]:
        with Project.open(world.root, world.environ) as project:
            return apply_review_timeouts(project, late)

    monkeypatch.setattr(SqlJournal, "last_notice", last_notice)
    late = time.time() + 100
    with ThreadPoolExecutor(2) as threads:
        messages = [message for found in threads.map(remind, range(2)) for message in found]
    assert len(messages) == 1 and f"{task} is waiting for you" in messages[0]
    assert [one["type"] for one in world.events(task)].count("review_reminded") == 1
