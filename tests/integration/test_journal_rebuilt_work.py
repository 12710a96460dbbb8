"""Tasks after ostler journal rebuild: later work is committed, and nothing of earlier work is overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from journal_file import journal_path
from world import World


def transcripts(world: World, task: str) -> dict[str, bytes]:
    folder = world.root / ".ostler" / "tasks" / task / "transcripts"
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def call(world: World, task: str, text: str) -> None:
    world.behave(edits={}, files={"work.txt": text})
    world.ostler("run", task, code=4)


@pytest.mark.full
@pytest.mark.parametrize("source", ["files", "backup"])
def test_work_after_a_rebuild_is_committed(world: World, tmp_path: Path, source: str) -> None:
    """The steps have the same numbers as before, but the gate gets the present files."""
    world.environ["OSTLER_GATES__PHASES__IMPLEMENT"] = "human"
    task = world.new()
    call(world, task, "1")
    world.ostler("journal", "backup", str(tmp_path / "copy.db"))
    world.ostler("reject", task, "-m", "again")
    call(world, task, "2")
    before = transcripts(world, task)
    if source == "files":
        journal_path(world.root).unlink()
        world.ostler("journal", "rebuild")
        world.ostler("resume", task)
    else:
        world.ostler("journal", "rebuild", "--from", str(tmp_path / "copy.db"))
        world.ostler("reject", task, "-m", "again")
    assert "REBUILT" in world.show(task)["warnings"]
    call(world, task, "3")
    shown = world.show(task)
    assert world.git("show", f"{shown['commit']}:work.txt") == "3"
    assert world.git("rev-parse", shown["branch"]).strip() == shown["commit"]
    after = transcripts(world, task)
    assert {name: after[name] for name in before} == before, "the transcripts are kept"
    assert [one["number"] for one in shown["attempts"]] == [1, 2, 3]
    steps = [
        line for line in world.git("log", "--format=%B", shown["branch"]).splitlines() if "Step:" in line
    ]
    assert len(steps) == len({*steps}) == 3


def test_attempt_without_a_log_keeps_its_number(world: World) -> None:
    """The next attempt does not overwrite the transcript of an attempt whose log is lost."""
    world.environ["OSTLER_GATES__PHASES__IMPLEMENT"] = "human"
    task = world.new()
    call(world, task, "1")
    for log in (world.root / ".ostler" / "tasks" / task / "transcripts").glob("*.log.ndjson"):
        log.unlink()
    journal_path(world.root).unlink()
    world.ostler("journal", "rebuild")
    assert [one["number"] for one in world.show(task)["attempts"]] == [1]


def test_ended_task_has_a_warning(world: World) -> None:
    """It names what is not checked; its own warnings are kept."""
    world.behave(files={".gitignore": "left.txt\n", "left.txt": "x"})
    task = world.new()
    world.ostler("run", task)
    before = world.show(task)
    journal_path(world.root).unlink()
    world.ostler("journal", "rebuild")
    after = world.show(task)
    assert before["warnings"] == ["FILES_LEFT"]
    assert after["warnings"] == [*before["warnings"], "REBUILT"]
    assert after["commit"] == before["commit"]
    assert "gates" in " ".join(after["warning_texts"])
