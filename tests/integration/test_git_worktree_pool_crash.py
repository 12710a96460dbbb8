"""kill -9 during the reuse of a kept tree: no worktree is lost, duplicated or mixed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from examples import FULL
from git_world import git, registered, snapshot_of
from ostler.git.worktree import worktree_pool as warm
from ostler.git.worktree.trash import TRASH, empty_trash
from ostler.git.worktree.worktree import release_worktree
from warm_world import LEAK, WarmWorld, picture

CHILD = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from ostler.git.worktree import worktree_pool as warm
from ostler.git.worktree.worktree import release_worktree
from warm_world import LEAK, WarmWorld
warm.MIN_INDEX_BYTES = 0
world = WarmWorld.at(Path({project!r}))
print("ready", flush=True)
worktree = world.begin("second")
(worktree.path / "a.txt").write_text(LEAK)
(worktree.path / LEAK).write_text(LEAK)
release_worktree(worktree, 2)
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WarmWorld:
    monkeypatch.setattr(warm, "MIN_INDEX_BYTES", 0)
    return WarmWorld(tmp_path)


def leave_a_mess(world: WarmWorld) -> None:
    first = world.begin("first")
    (first.path / "a.txt").write_text(LEAK)
    (first.path / "build").mkdir()
    (first.path / "build" / LEAK).write_text(LEAK)
    release_worktree(first, 2)


def start_child(world: WarmWorld, failpoint: str = "") -> subprocess.Popen[bytes]:
    code = CHILD.format(path=sys.path, project=str(world.project))
    environ = os.environ | ({"OSTLER_FAILPOINT": failpoint} if failpoint else {})
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environ)
    assert child.stdout and child.stdout.readline() == b"ready\n"
    return child


def check(world: WarmWorld, wanted: dict[str, tuple[object, ...]]) -> None:
    """Do what the next run does; the task's worktree is complete, and it is the only one."""
    left = [name for name in os.listdir(world.worktrees) if not name.startswith(".")]
    assert set(left) <= {"second"}
    assert not (left and world.pool.entry("second").tree.exists()), "one tree exists twice"
    worktree = world.begin("second")
    if (worktree.path / LEAK).exists():  # killed after the work began; it is not lost
        assert (worktree.path / "a.txt").read_text() == LEAK
    else:
        (worktree.path / "a.txt").write_text("one\n")  # killed between its two writes, or unchanged
        assert picture(worktree.path) == wanted
    assert git(worktree.path, "symbolic-ref", "HEAD") == "refs/heads/ostler/second"
    assert registered(world.repository) == ["second"]
    release_worktree(worktree, 2)
    assert registered(world.repository) == [] and len(world.kept) <= 2
    assert empty_trash(world.worktrees) == 0 and os.listdir(world.worktrees / TRASH) == []


@pytest.mark.parametrize(
    "place", ["worktree.claimed", "worktree.registered", "worktree.fitted", "worktree.parked", "file.rename"]
)
@pytest.mark.sampled(2)
def test_killed_at_each_step_it_ends_the_same(world: WarmWorld, place: str) -> None:
    """The next run creates the worktree, or finds it, without anything of the previous one."""
    wanted = picture(world.begin("cold", 0).path)
    release_worktree(world.begin("cold", 0))
    before = snapshot_of(world.project)
    leave_a_mess(world)
    child = start_child(world, f"{place}:kill")
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    check(world, wanted)
    assert_next_is_whole(world, wanted)
    assert snapshot_of(world.project) == before


def test_killed_at_any_moment_it_ends_the_same(world: WarmWorld) -> None:
    """Kills during taking, cleaning, working and releasing."""
    wanted = picture(world.begin("cold", 0).path)
    release_worktree(world.begin("cold", 0))
    dice = random.Random(5)
    kills = 10 if FULL else 4
    for turn in range(kills):
        leave_a_mess(world)
        child = start_child(world)
        time.sleep(0.2 * (turn + dice.random()) / kills)  # any moment is possible
        child.send_signal(signal.SIGKILL)
        child.communicate()
        check(world, wanted)
    assert_next_is_whole(world, wanted)
    assert git(world.project, "fsck", "--no-dangling", check=False) == ""


def assert_next_is_whole(world: WarmWorld, wanted: dict[str, tuple[object, ...]]) -> None:
    last = world.begin("last")
    assert picture(last.path) == wanted
    release_worktree(last)
