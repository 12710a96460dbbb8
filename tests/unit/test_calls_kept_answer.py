"""An answer that the journal cannot record yet."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostler.calls.attempts import kept_answer
from ostler.calls.request import CallOutcome
from ostler.errors import Code
from ostler.model.attempt import Attempt
from ostler.model.call import CallResult
from ostler.model.ids import TaskId

KEY = "t-1/1/call"
ENDED = Attempt(TaskId("t-1"), KEY, "run", "implement", 1, "claude", 1.0, number=3, status="succeeded")


class LockedJournal:
    """A journal that records nothing until `free` is set."""

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.ended: list[Attempt] = []

    async def end_attempt(self, attempt: Attempt) -> bool:
        await self.free.wait()
        self.ended.append(attempt)
        return True


def request(place: Path, key: str = KEY) -> Any:
    return SimpleNamespace(key=key, task_dir=place)


@pytest.fixture(autouse=True)
def keep_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answer, "KEEP_AFTER_SECONDS", 0.01)


async def answer(place: Path, journal: Any, result: CallResult, *, interrupted: bool) -> None:
    ending = asyncio.create_task(
        kept_answer.record_end(request(place), ENDED, CallOutcome(result, attempt=3), journal)
    )
    await asyncio.sleep(0.05)
    if interrupted:
        ending.cancel()
        await asyncio.wait({ending})
    else:
        journal.free.set()
        await ending


def test_the_next_run_uses_an_answer_that_was_not_recorded(tmp_path: Path) -> None:
    """It is recorded once, for its own step only, and then deleted."""

    async def scene() -> None:
        await answer(tmp_path, LockedJournal(), CallResult(None, text="Done."), interrupted=True)
        journal: Any = LockedJournal()
        journal.free.set()
        assert await kept_answer.find_kept_answer(request(tmp_path, "another step"), journal) is None
        found = await kept_answer.find_kept_answer(request(tmp_path), journal)
        assert found is not None and (found.result.text, found.attempt) == ("Done.", 3)
        assert journal.ended == [ENDED]
        assert await kept_answer.find_kept_answer(request(tmp_path), journal) is None

    asyncio.run(scene())


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    """The next run calls the agent again."""
    failure = CallResult(Code.AGENT_FAILED, "x")
    asyncio.run(answer(tmp_path, LockedJournal(), failure, interrupted=True))
    assert list(tmp_path.iterdir()) == []


def test_an_answer_that_was_recorded_late_is_deleted(tmp_path: Path) -> None:
    """It was in the file while the journal was locked."""

    async def scene() -> None:
        journal = LockedJournal()
        ending = asyncio.create_task(answer(tmp_path, journal, CallResult(None, text="x"), interrupted=False))
        while not list(tmp_path.glob("*.json")):
            await asyncio.sleep(0.001)
        await ending
        assert journal.ended == [ENDED] and list(tmp_path.iterdir()) == []

    asyncio.run(scene())


def test_a_damaged_file_is_ignored(tmp_path: Path) -> None:
    """A power cut may have emptied it."""
    asyncio.run(answer(tmp_path, LockedJournal(), CallResult(None, text="Done."), interrupted=True))
    (file,) = tmp_path.iterdir()
    file.write_bytes(b"")
    journal: Any = None  # not used
    assert asyncio.run(kept_answer.find_kept_answer(request(tmp_path), journal)) is None
