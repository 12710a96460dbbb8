"""Plain progress: what is told, and that a long silence does not look like a standstill."""

from __future__ import annotations

import time

import msgspec
import pytest

from ostler.cli.progress import PlainProgress
from ostler.model.event import FeedLine, Rebased, TaskClaimed, TaskCompleted
from ostler.model.ids import TaskId
from ostler.model.notice import (
    AgentQuiet,
    AgentWarned,
    IterationStarted,
    ModelWoke,
    SessionNoted,
    SourceNotTold,
    UsageReported,
    WorkAdjusted,
)
from ostler.model.usage import Usage
from ostler.views.feed import feed_json

TASK = TaskId("add-a-greeting-1a2b")
Happened = (
    TaskClaimed
    | IterationStarted
    | UsageReported
    | AgentQuiet
    | AgentWarned
    | ModelWoke
    | SessionNoted
    | SourceNotTold
    | Rebased
    | WorkAdjusted
    | TaskCompleted
)


def tell(progress: PlainProgress, event: Happened, at: float) -> None:
    line = FeedLine(1, at, TASK, msgspec.Raw(msgspec.json.encode(event)))
    progress.take(feed_json(line), at)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (WorkAdjusted("limits", "6 of 8 failures were limits: waits from 2 s"), "waits from 2 s"),
        (ModelWoke("sonnet", "sonnet works again after its rest"), "sonnet works again after its rest"),
        (AgentWarned("claude works without the project's CLAUDE.md"), "without the project's CLAUDE.md"),
        (AgentQuiet(1, 300), "agent quiet        for 300 s"),
        (SessionNoted("s-1", resumed=False), "session replaced"),
        (SourceNotTold("github:acme/app#1", "GitHub is away"), "github:acme/app#1 GitHub is away"),
        (Rebased("a" * 40, "b" * 40), "work rebased       onto bbbbbbbbbb"),
    ],
)
def test_what_a_person_should_know_is_told(
    event: Happened, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line each, with the reason in it."""
    tell(PlainProgress(), event, time.time())
    (line,) = capsys.readouterr().out.splitlines()
    assert said in line and TASK in line


def test_a_silent_minute_is_followed_by_a_sign_of_life(capsys: pytest.CaptureFixture[str]) -> None:
    """C72: one calm line for each running task, not sooner than a minute after the last one."""
    progress, began = PlainProgress(), time.time()
    tell(progress, TaskClaimed("r"), began)
    tell(progress, IterationStarted("implement", 2), began)
    tell(progress, UsageReported(Usage(12_000, 500)), began + 30)
    capsys.readouterr()
    for second in range(59):
        progress.beat(began + second)
    assert capsys.readouterr().out == ""
    for second in range(60, 181):
        progress.beat(began + second)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("still working      implement 2, for 1 min, 12k tokens")


def test_nothing_is_said_when_nobody_works(capsys: pytest.CaptureFixture[str]) -> None:
    """Before the first task and after the last one."""
    progress, began = PlainProgress(), time.time()
    progress.beat(began + 1000)
    tell(progress, TaskClaimed("r"), began)
    tell(progress, TaskCompleted(), began + 1)
    capsys.readouterr()
    progress.beat(began + 1000)
    assert capsys.readouterr().out == ""
