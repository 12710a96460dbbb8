"""An answer whose step is not recorded yet."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from ostler.calls.attempts.kept_answer import (
    AnswerPlaces,
    delete_kept_answer,
    find_answer_places,
    find_kept_answer,
    has_kept_answer,
    keep_answer,
)
from ostler.calls.request import CallOutcome
from ostler.errors import Code
from ostler.files import boot
from ostler.model.attempt import Attempt
from ostler.model.call import CallResult
from ostler.model.ids import TaskId

TASK = TaskId("t-1")
KEY = "t-1/1/call"
ENDED = Attempt(TASK, KEY, "run", "implement", 1, "claude", 1.0, number=3, status="succeeded")
DONE = CallOutcome(CallResult(None, text="Done."), attempt=3, answer="answer.md")


class EndedAttempts(list[Attempt]):
    """Records what ends."""

    async def end_attempt(self, attempt: Attempt) -> bool:
        self.append(attempt)
        return True


def request(place: Path, key: str = KEY, *, keeps_answer: bool = True) -> Any:
    return SimpleNamespace(key=key, task=TASK, task_dir=place, cwd=str(place), keeps_answer=keeps_answer)


def keep(place: Path, places: AnswerPlaces, outcome: CallOutcome = DONE) -> bool:
    return keep_answer(request(place), ENDED, outcome, places)


def find(place: Path, places: AnswerPlaces, key: str = KEY) -> tuple[CallOutcome | None, list[Attempt]]:
    journal: Any = EndedAttempts()
    return asyncio.run(find_kept_answer(request(place, key), places, journal)), journal


def test_the_next_run_uses_an_answer_whose_step_is_not_recorded(tmp_path: Path) -> None:
    """For its own step only, as often as the step is interrupted, until it is deleted."""
    places = AnswerPlaces(tmp_path / "kept.json", None)
    assert keep(tmp_path, places)
    assert find(tmp_path, places, "another step") == (None, [])
    assert find(tmp_path, places) == find(tmp_path, places) == (DONE, [ENDED])
    assert (tmp_path / "answer.md").read_text() == "Done.", "the run ended before it wrote the file"
    delete_kept_answer(places)
    assert not has_kept_answer(request(tmp_path), places)


def test_an_answer_without_a_step_is_not_kept(tmp_path: Path) -> None:
    """The keys of calls outside a project are used again by the next process."""
    places = AnswerPlaces(tmp_path / "kept.json", None)
    outside = request(tmp_path, keeps_answer=False)
    assert keep_answer(outside, ENDED, DONE, places) and list(tmp_path.iterdir()) == []
    assert keep(tmp_path, places)
    assert not has_kept_answer(outside, places)


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    """The next run calls the agent again."""
    places = AnswerPlaces(tmp_path / "kept.json", None)
    assert keep(tmp_path, places, CallOutcome(CallResult(Code.AGENT_FAILED, "x")))
    assert list(tmp_path.iterdir()) == []


def test_an_answer_that_the_project_cannot_hold_is_kept_elsewhere(tmp_path: Path) -> None:
    """A full disk, or a directory that cannot be written: the user's directory for state is used."""
    places = find_answer_places(tmp_path / "gone", TASK, "store", {"HOME": str(tmp_path)})
    assert places.elsewhere == tmp_path / ".local/state/ostler/answers/store-t-1.json"
    (tmp_path / "gone").touch()
    assert keep(tmp_path / "gone", places)
    (tmp_path / "gone").unlink()
    (tmp_path / "gone").mkdir()
    assert find(tmp_path / "gone", places) == (DONE, [ENDED])
    delete_kept_answer(places)
    assert not places.elsewhere.exists()


def test_an_answer_that_cannot_be_kept_is_reported(tmp_path: Path) -> None:
    """The caller keeps it in memory and tries again."""
    (tmp_path / "gone").touch()
    assert not keep(tmp_path, AnswerPlaces(tmp_path / "gone" / "kept.json", None))


def test_an_answer_of_an_earlier_boot_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its work was not flushed; also where the system has no id of a boot, such as macOS."""
    monkeypatch.setattr(boot, "_FILE", tmp_path / "none")
    places = AnswerPlaces(tmp_path / "kept.json", None)
    monkeypatch.setattr(psutil, "boot_time", lambda: 1000.0)
    keep(tmp_path, places)
    assert find(tmp_path, places) == (DONE, [ENDED])
    monkeypatch.setattr(psutil, "boot_time", lambda: 2000.0)
    assert find(tmp_path, places) == (None, [])


def test_a_damaged_file_is_ignored(tmp_path: Path) -> None:
    """A power cut may have emptied it."""
    places = AnswerPlaces(tmp_path / "kept.json", None)
    keep(tmp_path, places)
    places.file.write_bytes(b"")
    assert find(tmp_path, places) == (None, [])


def test_a_secret_in_the_prompt_is_not_kept(tmp_path: Path) -> None:
    """The file is as clean as the copy of the prompt beside it."""
    secret = "AKIA" + "Q3EGTVZ7XWYB2K5M"
    places = AnswerPlaces(tmp_path / "kept.json", None)
    keep(tmp_path, places, CallOutcome(CallResult(None, text="Done."), prompt=f"use {secret} now"))
    kept = places.file.read_text()
    assert "use " in kept and secret not in kept
