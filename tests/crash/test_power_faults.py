"""Power cuts: an acknowledged fact is on the disk before it is reported (B22)."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flushes import (
    check_end_is_flushed,
    check_new_directory_is_flushed,
    check_new_journal_is_flushed,
    check_task_is_flushed,
)
from nemesis import needs_root, needs_strace
from oracle import check_all_done
from power import Disk, powered_world, write_back
from world import KILL, World, end

CUTS = 50 if os.environ.get("OSTLER_FULL") else 5


@needs_strace
@pytest.mark.parametrize(
    "check",
    [
        check_task_is_flushed,
        check_end_is_flushed,
        check_new_journal_is_flushed,
        check_new_directory_is_flushed,
    ],
)
@pytest.mark.sampled(1)
def test_the_disk_has_it_before_it_is_reported(world: World, check: Callable[[World], None]) -> None:
    """A submitted task, an end, a new journal: flushed first, then reported."""
    check(world)


@pytest.fixture
def powered(tmp_path: Path) -> Iterator[tuple[World, Disk]]:
    with powered_world(tmp_path) as made:
        yield made


@needs_root
def test_a_submitted_task_survives_a_power_cut(powered: tuple[World, Disk]) -> None:
    """The power is cut right after each id is printed: every task exists afterwards and completes (W1)."""
    world, disk = powered
    tasks = []
    for number in range(CUTS):
        tasks.append(world.new(f"Task number {number}"))
        disk.cut()
        disk.start_again()
    assert sorted(task["id"] for task in world.json("status")["tasks"]) == sorted(tasks)
    world.ostler("run", "--all")
    disk.cut()
    disk.start_again()
    check_all_done(world, tasks)


@needs_root
def test_a_new_worktree_survives_a_power_cut(powered: tuple[World, Disk]) -> None:
    """The power is cut before the first attempt: its agent gets the files of the project, not empty ones."""
    world, disk = powered
    for number in range(20):
        (world.root / f"part-{number}.txt").write_text(f"part {number}\n" * 100)
    world.git("add", "-A")
    world.git("commit", "-q", "-m", "parts")
    os.sync()
    task = world.new()
    world.ostler("run", "--all", code=-KILL, OSTLER_FAILPOINT="attempt.begin:kill:1")
    write_back(world.root / ".git")
    disk.cut()
    disk.start_again()
    worktree = world.root / ".ostler" / "worktrees" / task
    found = {path.name: path.read_bytes() for path in worktree.glob("part-*")}
    assert found == {path.name: path.read_bytes() for path in world.root.glob("part-*")}
    world.ostler("run", "--all")
    check_all_done(world, [task])


@needs_root
def test_a_recorded_checkpoint_survives_a_power_cut(powered: tuple[World, Disk]) -> None:
    """The power is cut right after the record: commit, files of the worktree and answer are there."""
    world, disk = powered
    world.behave(edits={"fake-agent.txt": "call", "deep/er/more.txt": "call"})
    task = world.new()
    # Preparation, then the call with its checkpoint.
    world.ostler("run", "--all", code=-KILL, OSTLER_FAILPOINT="step.recorded:kill:2")
    disk.cut()
    disk.start_again()
    assert [event["type"] for event in world.events(task)][-1] == "checkpoint_made"
    for name in ("fake-agent.txt", "deep/er/more.txt"):
        assert world.git("show", f"ostler/{task}:{name}") == "call 1\n"
        assert (world.root / ".ostler" / "worktrees" / task / name).read_text() == "call 1\n"
    check_attempts_are_whole(world, task, 1)
    world.ostler("run", "--all")
    check_all_done(world, [task])


@needs_root
def test_the_work_of_a_call_without_a_commit_survives_a_power_cut(powered: tuple[World, Disk]) -> None:
    """The power is cut after the record of a call that did not complete its phase."""
    world, disk = powered
    world.environ["OSTLER_PHASES__PLANS__MEDIUM"] = '["implement"]'
    world.behave(plan=[{"text": "The first part is done, I go on.", "edits": {"part.txt": "call"}}, {}])
    task = world.new("Greet", "--weight", "medium")
    world.ostler("run", "--all", code=-KILL, OSTLER_FAILPOINT="step.recorded:kill:2")
    disk.cut()
    disk.start_again()
    assert [event["type"] for event in world.events(task)][-1] == "call_ended"
    assert (world.root / ".ostler" / "worktrees" / task / "part.txt").read_text() == "call 1\n"
    check_attempts_are_whole(world, task, 1)
    world.ostler("run", "--all")
    assert world.git("show", f"ostler/{task}:part.txt") == "call 1\n"


@needs_root
def test_an_answer_is_not_used_without_the_work_after_a_power_cut(powered: tuple[World, Disk]) -> None:
    """The power is cut before the record, and only the answer had reached the disk: the agent works again."""
    world, disk = powered
    task = world.new()
    world.ostler("run", "--all", code=-KILL, OSTLER_FAILPOINT="checkpoint.commit:kill:1")
    write_back(world.root / ".git")
    disk.cut()
    disk.start_again()
    kept = world.root / ".git" / "ostler" / "tasks" / task / "unrecorded-answer.json"
    # The machine of this test does not really start again, so its id stays: another one is written instead.
    kept.write_text(re.sub(r'"boot":"[^"]*"', '"boot":"another"', kept.read_text()))
    world.ostler("run", "--all")
    assert len(world.started()) == 2
    assert world.git("show", f"ostler/{task}:fake-agent.txt").splitlines()[-1] == "call 2"


def check_attempts_are_whole(world: World, task: str, count: int) -> None:
    """Each attempt has its answer, its transcript and its prompt."""
    folder = world.root / ".git" / "ostler" / "tasks" / task
    answers = sorted((folder / "transcripts").glob("*.answer.md"))
    assert len(answers) == count
    for answer in answers:
        name = answer.name.removesuffix(".answer.md")
        assert answer.read_text().strip(), answer
        assert '"result"' in (folder / "transcripts" / f"{name}.jsonl").read_text()
        assert (folder / "prompts" / f"{name}.md").read_text()


@needs_root
def test_a_prepared_workspace_survives_a_power_cut(powered: tuple[World, Disk]) -> None:
    """The power is cut before the first attempt: the agent gets the complete files of [workspace]."""
    world, disk = powered
    (world.root / "input.txt").write_text("needed\n")
    (world.root / "ostler.toml").write_text(
        '[workspace]\ncopy = ["input.txt"]\nsetup = "echo made > made.txt"\n'
    )
    world.behave(script="cat input.txt made.txt > seen.txt")
    os.sync()
    task = world.new()
    world.ostler("run", "--all", code=-KILL, OSTLER_FAILPOINT="attempt.begin:kill:1")
    # The kernel flushes files in any order: here all of git's files about the worktree, and no file in it.
    write_back(world.root / ".git")
    disk.cut()
    disk.start_again()
    world.ostler("run", "--all")
    assert world.git("show", f"ostler/{task}:seen.txt") == "needed\nmade\n"


@pytest.mark.full
@needs_root
def test_a_power_cut_in_the_middle_of_a_run_loses_nothing(powered: tuple[World, Disk]) -> None:
    """At random moments; a task reported as completed keeps its commit, and the others are completed."""
    world, disk = powered
    chance = random.Random(5)
    world.behave(delay_seconds=0.2)
    tasks = [world.new(f"Task number {number}") for number in range(3)]
    for _ in range(CUTS):
        before = reported_as_completed(world)
        run = world.start("run", "--all", "--json")
        time.sleep(chance.uniform(0.2, 1.2))
        disk.cut()
        end(run, KILL)
        world.close()
        disk.start_again()
        reported = reported_as_completed(world) | before
        kept = {task["id"] for task in world.json("status")["tasks"] if task["status"] == "completed"}
        assert reported <= kept, "a task that was reported as completed is not"
        tasks += [world.new("One more") for _ in range(3 - len(tasks) + len(kept))]
    world.ostler("run", "--all")
    check_all_done(world, tasks, power_cut=True)


def reported_as_completed(world: World) -> set[str]:
    out = world.root.parent / "out.txt"
    printed = out.read_text() if out.exists() else ""
    return set(re.findall(r'"task_id":"([^"]+)","type":"task_completed"', printed))
