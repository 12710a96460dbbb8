"""Power cuts after a record: the recorded commit is whole, and the branch of the task has it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import apsw
import pytest

from nemesis import needs_root
from power import MAKERS, Disk, powered_world, write_back
from world import KILL, World

FILES = {"one.txt": "one\n", "deep/er/two.txt": "two\n"}
WRITE = "mkdir -p deep/er; echo one > one.txt; echo two > deep/er/two.txt"
STAGE = f"{WRITE}; git add -A"
COMMIT = f"{STAGE}; git -c user.name=A -c user.email=a@example.org commit -q -m work"


def run_until_cut(world: World, disk: Disk, *opened: apsw.Connection, steps: int = 2) -> None:
    """Cut the power right after a step is recorded, by default the first call, while these are open."""
    world.ostler("run", "--all", code=-KILL, OSTLER_FAILPOINT=f"step.recorded:kill:{steps}")
    disk.cut()
    for connection in opened:
        connection.close()
    disk.start_again()


def check_whole(world: World, task: str) -> None:
    """The recorded commit, its branch and the worktree have the files; no object is damaged."""
    recorded = world.events(task)[-1]
    assert recorded["type"] == "checkpoint_made"
    assert (
        world.git("rev-parse", f"ostler/{task}", f"refs/ostler/tasks/{task}").split()
        == [recorded["commit"]] * 2
    )
    for name, text in FILES.items():
        assert world.git("show", f"ostler/{task}:{name}") == text
        assert (world.root / ".ostler" / "worktrees" / task / name).read_text() == text
    check_damage(world)
    files = world.root / ".git" / "ostler" / "tasks" / task / "transcripts"
    assert [one.read_text().strip() != "" for one in files.glob("*.answer.md")] == [True]


def check_damage(world: World) -> None:
    """All objects of the repository can be read."""
    done = subprocess.run(
        ["git", "fsck", "--full"], cwd=world.root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.full
@needs_root
@pytest.mark.parametrize("tier", ["supervised", "auto"])
@pytest.mark.parametrize("script", [WRITE, STAGE, COMMIT], ids=["write", "stage", "commit"])
@pytest.mark.parametrize("kind", ["", *MAKERS])
def test_a_recorded_commit_survives_a_power_cut(tmp_path: Path, kind: str, script: str, tier: str) -> None:
    """Git of an agent flushes nothing that it stages or commits; file systems differ in what they keep."""
    with powered_world(tmp_path, kind) as (world, disk):
        world.environ["OSTLER_SANDBOX__TIER"] = tier
        world.behave(edits={}, script=script)
        task = world.new()
        run_until_cut(world, disk)
        check_whole(world, task)


@pytest.mark.full
@needs_root
@pytest.mark.parametrize("script", [STAGE, COMMIT], ids=["stage", "commit"])
def test_objects_of_a_call_that_is_not_recorded_are_whole(tmp_path: Path, script: str) -> None:
    """The agent works again, and the commit of the same files can be read: git writes no object twice."""
    with powered_world(tmp_path) as (world, disk):
        world.behave(edits={}, script=script.replace("commit", "commit --allow-empty"))
        task = world.new()
        world.ostler("run", "--all", code=-KILL, OSTLER_FAILPOINT="checkpoint.commit:kill:1")
        kept = world.root / ".git" / "ostler" / "tasks" / task / "unrecorded-answer.json"
        # The machine of this test does not really start again.
        kept.write_text(re.sub(r'"boot":"[^"]*"', '"boot":"another"', kept.read_text()))
        write_back(kept.parent)  # which flushes the names of all files
        disk.cut()
        disk.start_again()
        world.ostler("run", "--all")
        check_damage(world)
        for name, text in FILES.items():
            assert world.git("show", f"ostler/{task}:{name}") == text


@pytest.mark.full
@needs_root
@pytest.mark.parametrize("kind", ["", "xfs", "btrfs"])
def test_the_branch_survives_a_power_cut(tmp_path: Path, kind: str) -> None:
    """Also when the journal writes over its log: such a flush includes no name that git has given a ref."""
    with powered_world(tmp_path, kind) as (world, disk):
        world.behave(edits={}, script=WRITE)
        task = world.new()
        run_until_cut(world, disk, fill_log(world))
        check_whole(world, task)


@pytest.mark.full
@needs_root
def test_a_recorded_merge_survives_a_power_cut(tmp_path: Path) -> None:
    """The target has the work, and the files of the user's checkout are there."""
    with powered_world(tmp_path) as (world, disk):
        world.environ["OSTLER_GIT__ON_COMPLETE"] = "merge"
        world.behave(edits={}, script=WRITE)
        task = world.new()
        run_until_cut(world, disk, fill_log(world), steps=5)
        assert world.events(task)[-1]["type"] == "published"
        for name, text in FILES.items():
            assert world.git("show", f"main:{name}") == text
            assert (world.root / name).read_text() == text


def fill_log(world: World) -> apsw.Connection:
    """Write so much to the journal that its log is used from the beginning again, and keep it open."""
    connection = apsw.Connection(str(world.root / ".git" / "ostler" / "ostler.db"))
    connection.set_busy_timeout(5000)
    connection.execute("CREATE TABLE filled(bytes)")
    for _ in range(300):
        connection.execute("INSERT INTO filled VALUES(zeroblob(20000))")
    connection.execute("DROP TABLE filled; PRAGMA wal_checkpoint(RESTART)")
    subprocess.run(["sync"], check=True)
    return connection
