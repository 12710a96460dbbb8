"""What Ostler adds to a task and to each further call, in counts that load cannot blur."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from counted import Counts, count_program, count_run
from nemesis import needs_strace
from world import World

CONTROL = """
import os, subprocess
os.rename("a", "b")
file = os.open("b", os.O_WRONLY)
os.fsync(file)
os.fdatasync(file)
os.sync()
subprocess.run(["git", "--version"], check=True)
log = os.open("ostler.db-wal", os.O_WRONLY | os.O_CREAT)
os.fdatasync(log)
"""
# Each with its reason.
OF_A_TASK = {
    "update-ref -m": 1,  # creates the branch
    "reset --hard": 1,  # writes the files of the worktree
    "ls-files -z": 3,  # changed files; files that stay outside of the commit, then and at the release
    "update-index --add": 1,
    "write-tree": 1,
    "commit-tree": 1,
    "update-ref --no-deref": 1,  # the task's branch, and the ref that keeps its commit
}
OF_THE_COMMAND = {
    "config -z": 1,  # what the user ignores, for the next one
    "status --porcelain": 1,  # a warning about changes that the task does not include
    "diff-tree -r": 1,  # the size of the change
}


@needs_strace
def test_the_counter_counts(tmp_path: Path) -> None:
    """A program that does one of each, and three flushes: the limits below can be exceeded."""
    (tmp_path / "a").touch()
    log = tmp_path / "trace.txt"
    counts, done = count_program((sys.executable, "-c", CONTROL), tmp_path, dict(os.environ), log)
    assert done.returncode == 0, done.stderr
    assert dict(counts.git) == {"--version": 1}
    assert (counts.commits, counts.all_flushes, counts.renames) == (1, 3, 1)


def run_task(directory: Path, calls: int, **environ: str) -> Counts:
    """Run a task whose agent completes with this call, and has changed nothing before."""
    waits = [{"text": f"Part {number} is done, I go on.", "edits": {}} for number in range(1, calls)]
    world = World(directory, plan=[*waits, {}])
    world.environ |= {"OSTLER_PHASES__PLANS__MEDIUM": '["implement"]', **environ}
    task = world.new("Say hello", "--weight", "medium")
    counts, done = count_run(("run", task), world.root, world.environ, directory / "trace.txt")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(world.show(task)["attempts"]) == calls, done.stdout
    return counts


@needs_strace
@pytest.mark.parametrize("tier", ["supervised", pytest.param("auto", marks=pytest.mark.full)])
def test_a_further_call_starts_no_git_and_flushes_once(tmp_path: Path, tier: str) -> None:
    """P15: no git process, at most three durable commits, and one flush for files and answer."""
    two, four = (run_task(tmp_path / str(calls), calls, OSTLER_SANDBOX__TIER=tier) for calls in (2, 4))
    added = four.since(two)
    assert dict(added.git) == {}
    assert added.commits <= 2 * 3 and added.all_flushes <= 2 * 1, added.describe()
    # In a sandbox five more: its git directory is replaced, and what it had is deleted.
    assert added.renames <= 2 * (7 if tier == "supervised" else 12), added.describe()


@needs_strace
def test_a_task_starts_few_git_processes(tmp_path: Path) -> None:
    """P16: the processes of a task with one call, beside those of the command that runs it."""
    counts = run_task(tmp_path, 1)
    expected = {name: counts.git[name] for name in OF_A_TASK}
    assert expected == OF_A_TASK, counts.git
    assert counts.git_processes <= sum(OF_A_TASK.values()) + sum(OF_THE_COMMAND.values()), counts.git
    # The new worktree, and the work; the directories of the two refs.
    assert counts.flushes["syncfs"] == 2, counts.flushes
