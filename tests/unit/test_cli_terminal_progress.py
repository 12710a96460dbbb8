"""Plain progress: which events are printed, and a line after a silent minute."""

from __future__ import annotations

import time

import msgspec
import pytest

from ostler.cli.terminal.run.progress import PlainProgress
from ostler.model.event import FeedLine, Rebased, TaskClaimed, TaskCompleted
from ostler.model.ids import TaskId
from ostler.model.notice import (
    AgentIdle,
    AgentWarned,
    ConcurrencyReduced,
    IterationStarted,
    ModelRecovered,
    SessionReplacedNotice,
    SourceUpdateFailed,
    UsageNotice,
    WaitEnded,
    WaitStarted,
)
from ostler.model.usage import Usage
from ostler.views.feed import feed_json

TASK = TaskId("add-a-greeting-1a2b")
Happened = (
    TaskClaimed
    | IterationStarted
    | UsageNotice
    | AgentIdle
    | AgentWarned
    | ModelRecovered
    | SessionReplacedNotice
    | SourceUpdateFailed
    | Rebased
    | ConcurrencyReduced
    | TaskCompleted
)


def record(progress: PlainProgress, event: Happened, at: float) -> None:
    line = FeedLine(1, at, TASK, msgspec.Raw(msgspec.json.encode(event)))
    progress.handle(feed_json(line), at)


@pytest.mark.parametrize(
    ("event", "printed"),
    [
        (ConcurrencyReduced("limits", "6 of 8 failures were limits: waits from 2 s"), "waits from 2 s"),
        (
            ModelRecovered("sonnet", "sonnet works again after its cooldown"),
            "sonnet works again after its cooldown",
        ),
        (AgentWarned("claude works without the project's CLAUDE.md"), "without the project's CLAUDE.md"),
        (AgentIdle(1, 300), "agent idle         for 300 s"),
        (SessionReplacedNotice("s-1", resumed=False), "session replaced"),
        (SourceUpdateFailed("github:acme/app#1", "GitHub is away"), "github:acme/app#1: GitHub is away"),
        (Rebased("a" * 40, "b" * 40), "work rebased       onto bbbbbbbbbb"),
    ],
)
def test_important_events_are_printed(
    event: Happened, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line each, with the reason."""
    record(PlainProgress(), event, time.time())
    (line,) = capsys.readouterr().out.splitlines()
    assert printed in line and TASK in line


def test_running_tasks_are_printed_after_a_silent_minute(capsys: pytest.CaptureFixture[str]) -> None:
    """C72: one line per running task, a minute after the last line."""
    progress, began = PlainProgress(), time.time()
    record(progress, TaskClaimed("r"), began)
    record(progress, IterationStarted("implement", 2), began)
    record(progress, UsageNotice(Usage(12_000, 500)), began + 30)
    capsys.readouterr()
    for second in range(59):
        progress.tick(began + second)
    assert capsys.readouterr().out == ""
    for second in range(60, 181):
        progress.tick(began + second)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("still working      implement 2, for 1 min, 12k tokens")


def test_a_task_that_waits_for_a_provider_is_not_working(capsys: pytest.CaptureFixture[str]) -> None:
    """L4: the line of a silent minute names the wait; after the wait the task works again."""
    progress, began = PlainProgress(), time.time()
    record(progress, TaskClaimed("r"), began)
    record(progress, IterationStarted("implement", 2), began)
    record(progress, WaitStarted(None, "gemini: RATE_LIMITED"), began + 10)
    capsys.readouterr()
    progress.tick(began + 75)
    (line,) = capsys.readouterr().out.splitlines()
    assert "still waiting" in line and "waiting: gemini: RATE_LIMITED, for 1 min" in line
    record(progress, WaitEnded("gemini"), began + 80)
    progress.tick(began + 200)
    assert "still working" in capsys.readouterr().out


def test_nothing_is_printed_without_a_running_task(capsys: pytest.CaptureFixture[str]) -> None:
    """Before the first task and after the last one."""
    progress, began = PlainProgress(), time.time()
    progress.tick(began + 1000)
    record(progress, TaskClaimed("r"), began)
    record(progress, TaskCompleted(), began + 1)
    capsys.readouterr()
    progress.tick(began + 1000)
    assert capsys.readouterr().out == ""
