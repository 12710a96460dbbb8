"""Faults that last: a run ends or prints what it waits for, no task fails for the repository (R1, R7)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nemesis import needs_root
from oracle import check_all_done
from world import KILL, World, wait_until

MOST_RECORDS = 20  # of one task, notices included
GIT = shutil.which("git") or "git"
FULL = pytest.mark.full


def repair_config(world: World) -> None:
    config = world.root / ".git" / "config"
    config.write_text(config.read_text().replace("[broken\n", ""))


def restore_repository(world: World) -> None:
    (world.root / "away").rename(world.root / ".git")


def restore_objects(world: World) -> None:
    shutil.rmtree(world.root / ".git" / "objects")
    (world.root / "saved").rename(world.root / ".git" / "objects")


# Faults of the whole repository: what the agent breaks, and how a person repairs it.
REPOSITORY: dict[str, tuple[str, Callable[[World], None]]] = {
    "bad line in the configuration": ("echo '[broken' >> {root}/.git/config", repair_config),
    "zeroed objects": (
        "cp -r {root}/.git/objects {root}/saved; for f in $(find {root}/.git/objects -type f);"
        " do chmod u+w $f; : > $f; done",
        restore_objects,
    ),
}


def run_two(world: World, script: str, code: int) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run two tasks one after the other; the first agent runs the script."""
    world.behave(plan=[{"script": script.format(root=world.root)}, {}])
    tasks = [world.new("First"), world.new("Second")]
    return world.ostler("run", "--all", "-j", "1", code=code), tasks


def check_few_records(world: World, tasks: list[str]) -> None:
    counts = [len(world.events(task)) for task in tasks]
    assert min(counts) >= 1 and max(counts) <= MOST_RECORDS, counts


@pytest.mark.full
def test_a_repository_that_is_gone_ends_the_run(world: World) -> None:
    """The journal is gone with it: nothing is reported as completed, and all continues when it is back."""
    done, tasks = run_two(world, "mv {root}/.git {root}/away", code=3)
    assert "restore the git directory" in done.stderr and "completed" not in done.stdout
    restore_repository(world)
    assert [task["status"] for task in world.json("status")["tasks"]] == ["pending", "pending"]
    assert "ostler journal rebuild" in world.ostler("run", "--all", code=3).stderr
    world.ostler("journal", "rebuild")  # with what could not be recorded
    world.ostler("run", "--all")
    check_all_done(world, tasks)


@pytest.mark.parametrize(
    "fault", [*list(REPOSITORY)[:1], *(pytest.param(f, marks=FULL) for f in list(REPOSITORY)[1:])]
)
def test_a_fault_of_the_repository_ends_the_run_and_fails_no_task(world: World, fault: str) -> None:
    """The cause is printed; the tasks stay pending, and the next run continues without another call."""
    script, repair = REPOSITORY[fault]
    done, tasks = run_two(world, script, code=1)
    assert "git" in done.stderr and "the tasks keep their progress" in done.stderr
    assert [task["status"] for task in world.json("status")["tasks"]] == ["pending", "pending"]
    check_few_records(world, tasks)
    repair(world)
    world.ostler("run", "--all")
    check_all_done(world, tasks)
    assert len(world.started()) == 2, "a paid answer was dropped"


@pytest.mark.full
@pytest.mark.parametrize("works", [10, *(pytest.param(n, marks=FULL) for n in range(6, 20, 2))])
def test_git_that_fails_from_a_call_on_ends_the_run(world: World, works: int) -> None:
    """Whichever call it is: the run ends, no task is failed, and the next run completes both."""
    tasks = [world.new("First"), world.new("Second")]
    calls, program = world.root.parent / "calls", world.root.parent / "bin" / "git"
    program.parent.mkdir()
    fails = f'[ "$(wc -l < {calls})" -gt {works} ] && echo "fatal: unexpected failure" >&2 && exit 128'
    program.write_text(f'#!/bin/sh\necho x >> {calls}\n{fails}\nexec {GIT} "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}:{world.environ['PATH']}"
    done = world.ostler("run", "--all", "-j", "1", code=None, PATH=path)
    statuses = {task["status"] for task in world.json("status")["tasks"]}
    assert statuses <= {"pending", "completed"}
    # When only the release of the last worktree fails, there is nothing left to do: a warning.
    ended = "is kept: " in done.stdout if statuses == {"completed"} else done.returncode in (1, 3)
    assert ended and "fatal: unexpected failure" in done.stdout + done.stderr, done.stdout + done.stderr
    check_few_records(world, tasks)
    program.unlink()
    world.ostler("run", "--all")
    assert {task["status"] for task in world.json("status")["tasks"]} == {"completed"}


def test_git_that_cannot_write_ends_the_run(world: World) -> None:
    """It reads the repository: no task fails, no second agent is called, and the answer is used later."""
    program, full = world.root.parent / "bin" / "git", world.root.parent / "full"
    program.parent.mkdir()
    message = "error: insufficient permission for adding an object to repository database .git/objects"
    fails = f'[ -e {full} ] && echo "{message}" >&2 && exit 128'
    program.write_text(
        f'#!/bin/sh\ncase "$1" in update-index|hash-object|write-tree) {fails};; esac\nexec {GIT} "$@"\n'
    )
    program.chmod(0o755)
    world.environ["PATH"] = f"{program.parent}:{world.environ['PATH']}"
    done, tasks = run_two(world, f"touch {full}", code=2)
    assert "insufficient permission" in done.stderr and "the tasks keep their progress" in done.stderr
    assert [task["status"] for task in world.json("status")["tasks"]] == ["pending", "pending"]
    check_few_records(world, tasks)
    full.unlink()
    world.ostler("run", "--all")
    check_all_done(world, tasks)
    assert len(world.started()) == 2, "a paid answer was dropped"


@FULL
def test_git_that_is_removed_ends_the_run(world: World) -> None:
    """Exit 2 with the reason; the tasks continue once it is installed."""
    programs = world.root.parent / "bin"
    programs.mkdir()
    for place in ("/usr/bin", "/bin"):
        for name in os.listdir(place):
            if not os.path.lexists(programs / name):
                (programs / name).symlink_to(f"{place}/{name}")
    path, world.environ["PATH"] = world.environ["PATH"], str(programs)
    done, tasks = run_two(world, f"rm -f {programs}/git", code=2)
    assert "git is not installed" in done.stderr
    check_few_records(world, tasks)
    world.environ["PATH"] = path
    world.ostler("run", "--all")
    check_all_done(world, tasks)


# Faults of one task: what its agent breaks, and the code.
OWN = {
    "worktree emptied": ("find . -mindepth 1 -delete", "WORKTREE_LOST"),
    "admin directory replaced by a file": (
        "for d in {root}/.git/worktrees/*; do rm -rf $d; echo x > $d; done",
        "GIT_CORRUPT",
    ),
}


@pytest.mark.parametrize(
    "fault", ["worktree emptied", pytest.param("admin directory replaced by a file", marks=FULL)]
)
def test_a_fault_of_one_task_does_not_stop_the_next(world: World, fault: str) -> None:
    """It fails with a code after few records; the next task completes."""
    script, code = OWN[fault]
    _, (first, second) = run_two(world, script, code=1)
    assert (world.show(first)["status"], world.show(first)["code"]) == ("failed", code)
    assert world.show(second)["status"] == "completed"
    check_few_records(world, [first, second])


@pytest.mark.full
@needs_root
@pytest.mark.skipif(not shutil.which("chattr"), reason="chattr is not installed")
def test_a_worktree_that_cannot_be_released_is_a_warning(world: World) -> None:
    """The task stays completed, the warning names the path, and the next run has nothing to do."""
    script = "for d in {root}/.git/worktrees/*; do touch $d/stays; chattr +i $d/stays || exit 0; done"
    try:
        _, (first, second) = run_two(world, script, code=0)
        shown = world.show(first)
        if not shown["warnings"]:
            pytest.skip("the file system has no immutable files")
        assert shown["status"] == "completed"
        assert f"worktrees/{first} is kept" in shown["warnings"][0]
        assert world.show(second)["status"] == "completed"
        check_few_records(world, [first, second])
        before = len(world.events())
        world.ostler("run", "--all")
        assert len(world.events()) == before
    finally:
        for path in (world.root / ".git" / "worktrees").glob("*/stays"):
            subprocess.run(["chattr", "-i", str(path)], check=True)


def test_a_missing_directory_of_locks_is_created_again(world: World) -> None:
    """An agent, or `git clean`, may delete it in the middle of a run."""
    _, tasks = run_two(world, "rm -rf {root}/.git/ostler/locks", code=0)
    check_all_done(world, tasks)
    assert (world.root / ".git" / "ostler" / "locks").stat().st_mode & 0o777 == 0o700


@pytest.mark.full
def test_a_second_run_prints_what_it_waits_for(world: World) -> None:
    """One line with the task and the pid of the first run."""
    world.behave(delay_seconds=4.0)
    task = world.new()
    first = world.start("run", "--all")
    wait_until(world.started, 30, "the agent did not start")
    done = world.program("run", "--all")
    lines = [line for line in done.stderr.splitlines() if line.startswith("waiting for")]
    assert lines == [f"waiting for {task}: another Ostler process (pid {first.pid}) runs it"]
    assert first.wait(30) == 0


@FULL
def test_a_project_that_is_renamed_in_mid_run_keeps_its_task(world: World, tmp_path: Path) -> None:
    """The task stays pending, and a run at the new place continues it."""
    world.behave(plan=[{"script": f"mv {world.root} {tmp_path}/moved"}, {}])
    task = world.new()
    run = world.start("run", "--all")
    assert run.wait(60) != 0
    world.root = tmp_path / "moved"
    assert world.show(task)["status"] == "pending"


def test_a_project_that_was_moved_continues_with_the_answer(world: World, tmp_path: Path) -> None:
    """Killed before the commit, then renamed: the next run commits the work and calls no agent again."""
    task = world.new()
    world.ostler("run", "--all", code=-KILL, OSTLER_FAILPOINT="checkpoint.commit:kill:1")
    world.root = world.root.rename(tmp_path / "moved")
    world.ostler("run", "--all")
    check_all_done(world, [task])
    assert len(world.started()) == 1


@pytest.mark.full
def test_a_task_with_a_branch_does_not_run_on_the_users_files(world: World) -> None:
    """Its repository is gone, and the journal with it: nothing starts; it continues when it is back."""
    task = world.new()
    world.ostler("run", "--all", code=-KILL, OSTLER_FAILPOINT="attempt.begun:kill:1")
    (world.root / ".git").rename(world.root / "away")
    for command in (("run", "--all"), ("status",), ("new", "Another")):
        done = world.ostler(*command, code=3)
        assert f"the journal was in {world.root}/.git/ostler, which does not exist" in done.stderr
    assert world.started() == []
    restore_repository(world)
    world.ostler("run", "--all")
    check_all_done(world, [task])
