"""The journal is deleted, moved or replaced while tasks run (R2): an error, and never a success."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from journal_file import journal_path
from world import World, wait_until

DELAY_SECONDS = 1.0


def delete(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def move_away(path: Path) -> None:
    path.rename(path.with_name("away.db"))


def replace_by_a_copy(path: Path) -> None:
    shutil.copy(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


@pytest.mark.parametrize(
    "lose",
    [
        delete,
        pytest.param(move_away, marks=pytest.mark.full),
        pytest.param(replace_by_a_copy, marks=pytest.mark.full),
    ],
)
def test_a_run_without_its_journal_ends(world: World, lose: Callable[[Path], None]) -> None:
    """Of three tasks one is running: exit 3, no "completed", and no agent starts afterwards."""
    world.behave(delay_seconds=DELAY_SECONDS)
    for title in ("First", "Second", "Third"):
        world.new(title)
    run = world.start("run", "--all", "-j", "1")
    wait_until(world.started, 30, "the agent did not start")
    lose(journal_path(world.root))
    assert run.wait(30) == 3
    printed = "".join((world.root.parent / name).read_text() for name in ("out.txt", "err.txt"))
    assert str(journal_path(world.root)) in printed
    assert "ostler journal rebuild" in printed
    assert "completed" not in printed
    assert "Traceback" not in printed
    time.sleep(DELAY_SECONDS / 2)
    assert len(world.started()) == 1, "no agent starts after the loss"
    world.git("clean", "-fdx")
    [rescued] = journal_path(world.root).parent.glob("rescue-*.db")
    world.behave()
    done = world.ostler("journal", "rebuild")
    assert f"from {rescued}" in done.stdout
    world.ostler("journal", "check")
    world.ostler("run", "--all")
    assert [task["status"] for task in world.json("status")["tasks"]] == ["completed"] * 3
