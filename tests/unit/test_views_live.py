"""The running tasks, updated from the feed, from any first read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from journal_values import OTHER, TASK, make_record, make_row
from ostler.model.event import TaskClaimed, TaskReleased
from ostler.model.ids import TaskId
from ostler.model.notice import AgentWarned, ToolUsedNotice
from ostler.store.sqlite.journal import SqliteJournal
from ostler.views.agent_work import live
from ostler.views.agent_work.live import Live


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    with SqliteJournal(tmp_path / "ostler.db", create=True) as made:
        yield made


def claim(journal: SqliteJournal, task: TaskId, seq: int) -> None:
    row = replace(make_row(seq, task), status="in_progress")
    assert journal.append(make_record(seq, task, TaskClaimed("run")), row)


def release(journal: SqliteJournal, task: TaskId, seq: int) -> None:
    assert journal.append(make_record(seq, task, TaskReleased()), make_row(seq, task))


def use(journal: SqliteJournal, task: TaskId, detail: str) -> None:
    journal.notify(task, 5.0, [ToolUsedNotice("Edit", detail)])


def test_what_ran_before_the_first_look_is_known(journal: SqliteJournal) -> None:
    """Only the feed since the snapshot is read."""
    claim(journal, OTHER, 1)
    release(journal, OTHER, 2)
    claim(journal, TASK, 1)
    use(journal, TASK, "a.py")
    looking = Live()
    assert {task: lane.activity for task, lane in looking.lanes(journal).items()} == {TASK: "edit a.py"}
    use(journal, TASK, "b.py")
    claim(journal, OTHER, 3)
    assert {task: lane.activity for task, lane in looking.lanes(journal).items()} == {
        TASK: "edit b.py",
        OTHER: "",
    }
    release(journal, TASK, 2)
    assert list(looking.lanes(journal)) == [OTHER]


def test_a_look_after_a_long_time_leaps(journal: SqliteJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a limit of new lines is not folded: the lanes are read from the journal instead."""
    monkeypatch.setattr(live, "_FAR", 50)
    looking = Live()
    assert looking.lanes(journal) == {}
    journal.notify(OTHER, 1.0, [AgentWarned(str(number)) for number in range(60)])
    claim(journal, TASK, 1)
    use(journal, TASK, "a.py")
    assert looking.lanes(journal)[TASK].activity == "edit a.py"
    journal.notify(OTHER, 1.0, [AgentWarned(str(number)) for number in range(60)])
    assert looking.lanes(journal)[TASK].activity == "edit a.py"
    release(journal, TASK, 2)
    journal.notify(OTHER, 1.0, [AgentWarned(str(number)) for number in range(60)])
    assert looking.lanes(journal) == {}
