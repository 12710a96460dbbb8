"""Disks that are full, failing or read-only, through the whole program (B13, B14, B15)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nemesis import (
    check_refusal,
    fill,
    join_resumed,
    needs_root,
    needs_strace,
    read_only,
    run_traced,
    run_under,
    small_disk,
)
from oracle import check_all_done
from world import World, wait_until

FULL = bool(os.environ.get("OSTLER_FULL"))
FLUSHES = (1, *range(3, 12)) if FULL else (1, 6, 8)
SURE_FLUSHES = 8  # of one task's history; more when group commit joins fewer records
# Only writes that are awaited: a notice about the agent's activity may be lost.
# The first file is of the accounts, the fifth is the record of the repository: both may be missing.
POINTS = ["journal.append:2:enospc", "file.write:10:enospc", "checkpoint.commit:1:enospc"]
POINTS += ["journal.append:1:eio", "file.write:8:eio"]
if FULL:
    POINTS += ["journal.append:1:enospc", "file.rename:8:enospc", "attempt.begin:1:enospc"]
    POINTS += ["attempt.end:1:eio", "checkpoint.committed:1:eio"]
_WAITS = "waiting for free space"
CODES = {"enospc": "DISK_FULL", "eio": "STORAGE_ERROR"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[World]:
    """A project alone on a disk of three megabytes; its agent is on another disk."""
    with small_disk(tmp_path / "disk", "3m"):
        world = World(tmp_path, "disk/project")
        yield world
        world.close()


@pytest.mark.sampled(1)
@needs_root
@pytest.mark.parametrize("left", [0, 98_304, 200_000])
def test_a_full_disk_stops_the_run_and_loses_nothing(disk: World, left: int) -> None:
    """It ends, or waits with a paid answer; with space all is completed, and no call is repeated."""
    tasks = [disk.new("First"), disk.new("Second")]
    filler = fill(disk.root.parent, left)
    run, errors = disk.start("run", "--all", "-j", "1", "--json"), disk.ledger.parent / "err.txt"
    wait_until(
        lambda: run.poll() is not None or _WAITS in errors.read_text(), 60, "the run neither waits nor ends"
    )
    code, printed = run.poll(), errors.read_text()
    assert len(disk.started()) <= 1, "the run continued with the next task"
    filler.unlink()
    if code is None:
        assert run.wait(60) == 0 and "the wait for free space is over" in errors.read_text()
    else:
        refusal = json.loads((disk.ledger.parent / "out.txt").read_text().splitlines()[-1])
        assert (code, refusal["code"], str(disk.root) in printed) == (1, "DISK_FULL", True), printed
        assert [disk.show(task)["status"] for task in tasks] == ["pending", "pending"]
        disk.ostler("run", "--all")
    check_all_done(disk, tasks)
    events = [event["type"] for task in tasks for event in disk.events(task)]
    # An attempt that the disk stopped before its agent started leaves no session to resume.
    paid = len(disk.started()) - events.count("session_replaced")
    assert paid == len(tasks), "a paid answer was dropped"


@needs_root
def test_a_task_that_does_not_fit_is_not_acknowledged(disk: World) -> None:
    """`new` on a full disk prints no id, and reports the reason."""
    known = disk.new("First")
    filler = fill(disk.root.parent, 0)
    done = disk.ostler("new", "Second", code=1)
    check_refusal(done, 1, "DISK_FULL", str(disk.root))
    assert done.stdout == ""
    filler.unlink()
    assert [task["id"] for task in disk.json("status")["tasks"]] == [known]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("point", POINTS)
def test_a_write_that_fails_stops_the_run_and_loses_nothing(world: World, point: str) -> None:
    """For any of the writes: exit 1 with the code, no further claim, and the next run completes all."""
    place, count, action = point.split(":")
    tasks = [world.new("First"), world.new("Second")]
    failpoint = f"{place}:{action}:{count}"
    done = world.ostler("run", "--all", "-j", "1", "--json", code=1, OSTLER_FAILPOINT=failpoint)
    check_refusal(done, 1, CODES[action], "")
    assert len(world.started()) <= 1, "the run continued with the next task"
    assert [world.show(task)["status"] for task in tasks] == ["pending", "pending"]
    world.ostler("run", "--all")
    check_all_done(world, tasks)


def test_a_call_that_strace_splits_is_one_line() -> None:
    """The path is in the first part, the injected error in the second."""
    first, other = "7 fdatasync(5</p/ostler.db-wal> <unfinished ...>", "8 close(3) = 0"
    second = "7 <... fdatasync resumed>) = -1 EIO (Input/output error) (INJECTED)"
    joined = "7 fdatasync(5</p/ostler.db-wal>) = -1 EIO (Input/output error) (INJECTED)"
    assert join_resumed([first, other, second]) == [other, joined]


@pytest.mark.sampled(1)
@needs_strace
@pytest.mark.parametrize("number", FLUSHES)
def test_a_failed_flush_is_never_followed_by_completed(world: World, number: int) -> None:
    """fdatasync gives EIO at the nth flush: STORAGE_ERROR, and an end is reported only if it was kept."""
    task = world.new()
    inject = ["-e", "trace=fdatasync", "-e", f"inject=fdatasync:error=EIO:when={number}"]
    done, trace = run_traced(world, inject, "run", "--all", "--json")
    lost = [line for line in trace if "INJECTED" in line and "ostler.db-wal" in line]
    if not lost:
        assert (done.returncode, number > SURE_FLUSHES) == (0, True), "the journal was flushed less often"
        check_all_done(world, [task])
        return
    check_refusal(done, 1, "STORAGE_ERROR", "ostler.db")
    # The last flushes are those of the release of its worktree.
    has_ended = "task_completed" in done.stdout
    assert not has_ended or number > SURE_FLUSHES
    assert world.show(task)["status"] == ("completed" if has_ended else "pending")
    world.ostler("run", "--all")
    check_all_done(world, [task])


@needs_strace
@pytest.mark.parametrize("number", [1, 2] if FULL else [1])
def test_a_failed_flush_in_git_stops_the_run(world: World, number: int) -> None:
    """What git could not flush is not used as a commit: the task stays pending and is repeated."""
    task = world.new()
    inject = ["-e", "trace=fsync", "-e", f"inject=fsync:error=EIO:when={number}+"]
    done, trace = run_traced(world, inject, "run", "--all", "--json")
    assert [line for line in trace if "INJECTED" in line]
    check_refusal(done, 1, "STORAGE_ERROR", str(world.root))
    assert world.show(task)["status"] == "pending"
    world.ostler("run", "--all")
    check_all_done(world, [task])


@pytest.mark.full
@needs_strace
@pytest.mark.parametrize("number", range(1, 8) if FULL else [1, 5, 6])
def test_a_task_whose_flush_failed_is_not_acknowledged(world: World, number: int) -> None:
    """`new` prints the id only if every flush before it succeeded."""
    inject = ["-e", "trace=fsync", "-e", f"inject=fsync:error=EIO:when={number}"]
    done, trace = run_traced(world, inject, "new", "First")
    if any("INJECTED" in line for line in trace):
        check_refusal(done, 1, "STORAGE_ERROR", str(world.root))
        assert done.stdout == ""
    else:
        assert number > 5
    known = [done.stdout.strip()] if done.stdout else []
    known.append(world.new("Second"))
    shown = [task["id"] for task in world.json("status")["tasks"]]
    assert set(known) <= set(shown)


@pytest.mark.sampled(1)
@needs_root
@pytest.mark.parametrize("place", [".", ".ostler", ".ostler/worktrees", ".git"])
def test_a_read_only_place_is_named_before_anything_is_claimed(world: World, place: str) -> None:
    """Exit 2 with the path; the task is unchanged, and runs when the path is writable."""
    task = world.new()
    with read_only(world.root / place):
        done = run_under(world, [], "run", "--all")
        check_refusal(done, 2, "USAGE", str(world.root / place))
    assert (world.show(task)["status"], world.started()) == ("pending", [])
    world.ostler("run", "--all")
    check_all_done(world, [task])


@needs_root
@pytest.mark.parametrize("command", [["new", "First"], ["init"], ["run", "-p", "First"]])
def test_a_read_only_directory_cannot_become_a_project(world: World, command: list[str]) -> None:
    """Exit 2 with the path, and nothing incomplete is left when it is writable again."""
    with read_only(world.root):
        check_refusal(run_under(world, [], *command), 2, "WORKSPACE_WRITE_FAILED", str(world.root))
    assert sorted(path.name for path in world.root.iterdir()) == [".git", "README.md"]


@needs_root
def test_a_read_only_home_is_no_hindrance(world: World, own_home: Path) -> None:
    """Ostler writes nothing there."""
    task = world.new()
    with read_only(own_home):
        world.ostler("run", "--all")
    check_all_done(world, [task])


@pytest.mark.full
@needs_root
def test_a_place_that_becomes_read_only_stops_the_run(world: World) -> None:
    """As after an error of the file system: one sentence, nothing lost, all continues after the repair."""
    world.behave(delay_seconds=3.0)
    task = world.new()
    run = world.start("run", "--all")
    wait_until(world.started, 30, "the agent did not start")
    with read_only(world.root):
        assert run.wait(30) == 2
    printed = (world.root.parent / "err.txt").read_text()
    assert "Traceback" not in printed
    kept, *between, error, _ = printed.splitlines()
    assert "the answer is kept in" in kept, printed
    assert all(line.startswith("state.yaml of ") for line in between), printed
    assert error.startswith("ostler: ") and str(world.root) in error, printed
    assert world.show(task)["status"] == "pending"
    world.ostler("run", "--all")
    check_all_done(world, [task])


def test_json_has_the_code_of_the_refusal(world: World) -> None:
    """A script gets the same as a person."""
    world.new()
    done = world.ostler("run", "--all", "--json", code=1, OSTLER_FAILPOINT="journal.append:enospc:1")
    reported = json.loads(done.stdout.splitlines()[-1])
    assert (reported["schema"], reported["code"]) == ("ostler.error/1", "DISK_FULL")
    assert reported["message"] and reported["hint"]
