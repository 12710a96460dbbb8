"""kill -9 at every boundary after a person spoke: what they said is done once, and nothing is lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from story_world import COMMAND, RIGHT, StoryWorld
from world import wait_until

GATED = f'[gates.commands]\ntest = "{COMMAND}"\n[gates.phases]\nimplement = "human"\n'
FULL = bool(os.environ.get("OSTLER_FULL"))
# How often each place is reached at the least.
PLACES = {"journal.append": 4} | ({"journal.appended": 4, "checkpoint.committed": 1} if FULL else {})
STRIDE = 3  # a lane takes every third boundary
LANES = range(STRIDE) if FULL else range(1)
PHASES = ["implement - completed", "test - completed"]


def rewinds(world: StoryWorld, task: str) -> None:
    """The task is done, and a person wants all of it done again."""
    world.ostler("approve", task)
    world.ostler("run", task)
    world.ostler("rewind", task, "--to", "implement")


def rejects(world: StoryWorld, task: str) -> None:
    world.ostler("reject", task, "-m", "Not like this.")


def approves(world: StoryWorld, task: str) -> None:
    world.ostler("approve", task)


# What is said, and the commits of the branch in the end.
WORDS: dict[Callable[[StoryWorld, str], None], list[str]] = {
    approves: PHASES,
    rejects: [PHASES[0], *PHASES],
    rewinds: PHASES,
}


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("speak", WORDS)
def test_a_kill_after_a_word_changes_nothing(
    tmp_path: Path, speak: Callable[[StoryWorld, str], None], place: str, lane: int
) -> None:
    """The run dies there; the ones after it come to the same branch, whatever was asked of them."""
    number = lane + 1
    while _dies(tmp_path / f"{number}", speak, f"{place}:kill:{number}"):
        number += STRIDE
    assert number > PLACES[place]


def _dies(directory: Path, speak: Callable[[StoryWorld, str], None], failpoint: str) -> bool:
    world = StoryWorld(directory, GATED, when=[], files={"calc.py": RIGHT})
    task = world.new("Mend the sum")
    world.ostler("run", task, code=4)
    speak(world, task)
    code = world.ostler("run", "--all", code=None, OSTLER_FAILPOINT=failpoint).returncode
    assert code in (0, 4, -9), failpoint
    if world.ostler("run", "--all", code=None).returncode == 4 or _waits(world, task):
        world.ostler("approve", task)
        world.ostler("run", "--all")
    _check(world, task, WORDS[speak])
    world.close()
    return code == -9


def _waits(world: StoryWorld, task: str) -> bool:
    return world.show(task)["status"] == "needs_review"


def _check(world: StoryWorld, task: str, commits: list[str]) -> None:
    wait_until(lambda: not world.survivors(), 20, f"processes are left: {world.survivors()}")
    world.check_store()
    shown = world.show(task)
    assert (shown["status"], world.read(task)) == ("completed", RIGHT)
    assert [name for _, name in world.commits(task)] == commits
    assert world.git("branch", "--format=%(refname:short)").split() == ["main", f"ostler/{task}"]
    assert world.git("worktree", "list").count("\n") == 1, "a worktree was left"
    assert world.git("status", "--porcelain") == "", "the user's checkout was touched"
