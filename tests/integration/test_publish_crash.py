"""kill -9 between any two steps of publishing: the result is one commit, one push, one pull request."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from git_world import BRANCH, git, snapshot_of
from ostler.git.publish.publish import PublishOutcome, PublishResult
from ostler.git.repository import Worktree
from ostler.testing.fake_github import FakeGitHub
from publish_world import PublishWorld, open_github

CHILD = Path(__file__).parents[1] / "support" / "publish_child.py"
STEPS = ("publish.fetch", "publish.files", "publish.rebased", "publish.pushed", "publish.created")


@pytest.fixture
def world(tmp_path: Path) -> PublishWorld:
    return PublishWorld(tmp_path)


@pytest.fixture
def github(world: PublishWorld, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    with open_github(world.bare, world.root / "gh", monkeypatch) as made:
        yield made


def start(world: PublishWorld, worktree: Worktree, mode: str, **env: str) -> subprocess.Popen[bytes]:
    words = (mode, str(world.project), str(worktree.path), worktree.branch, worktree.base)
    return subprocess.Popen(
        [sys.executable, str(CHILD), *words],
        env=os.environ | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def publish(world: PublishWorld, worktree: Worktree, mode: str, **env: str) -> PublishOutcome | int:
    """Return what the child published, or minus the signal that ended it."""
    child = start(world, worktree, mode, **env)
    reported, printed = child.communicate(timeout=60)
    assert child.returncode <= 0, printed.decode()
    return child.returncode or msgspec.json.decode(reported, type=PublishOutcome)


def wait_for_the_orphan(began: Path) -> None:
    deadline = time.monotonic() + 60
    while not began.with_suffix(".ended").exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def count_pushes(world: PublishWorld) -> Path:
    """Install a hook at the remote that writes a line each time the branch is set."""
    log = world.root / "pushes"
    (world.bare / "hooks").mkdir(exist_ok=True)
    hook = world.bare / "hooks" / "post-update"
    hook.write_text(f'#!/bin/sh\necho "$@" >> "{log}"\n')
    hook.chmod(0o755)
    return log


@pytest.mark.sampled(1)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("mode", ["pr", "auto"])
def test_killed_after_any_step(world: PublishWorld, github: FakeGitHub, step: str, mode: str):
    """Killed there and started again, the result is the same; a third time changes nothing."""
    worktree = world.work({"mine.txt": "mine"})
    onto = world.others_push({"theirs.txt": "theirs"})
    pushes, before = count_pushes(world), snapshot_of(world.project)
    killed = publish(world, worktree, mode, OSTLER_FAILPOINT=f"{step}:kill")
    assert killed == -signal.SIGKILL
    for _ in range(2):
        published = publish(world, worktree, mode)
        assert isinstance(published, PublishOutcome)
        assert [pull.url for pull in github.pulls] == [published.pr_url]
    assert git(world.bare, "rev-list", "--count", f"{onto}..{BRANCH}") == "1"
    assert world.there() == git(world.project, "rev-parse", BRANCH)
    assert pushes.read_text().splitlines() == [f"refs/heads/{BRANCH}"]
    assert github.pulls[0].state == ("MERGED" if mode == "auto" else "OPEN")
    assert github.pulls[0].labels == ("automated",)
    assert git(worktree.path, "status", "--porcelain") == ""
    assert snapshot_of(world.project) == before


@pytest.mark.sampled(1)
@pytest.mark.parametrize("step", ["publish.files", "publish.rebased", "publish.merged"])
def test_killed_in_a_merge(world: PublishWorld, step: str):
    """The target has the work once, for any moment of the kill."""
    worktree = world.work({"mine.txt": "mine"})
    onto = world.commit({"theirs.txt": "theirs"})
    git(world.project, "switch", "-qc", "elsewhere")
    killed = publish(world, worktree, "merge", OSTLER_FAILPOINT=f"{step}:kill")
    assert killed == -signal.SIGKILL
    for _ in range(2):
        published = publish(world, worktree, "merge")
        assert isinstance(published, PublishOutcome)
        assert published.result is PublishResult.MERGED
    assert git(world.project, "rev-list", "--count", f"{onto}..main") == "1"
    assert git(world.project, "show", "main:mine.txt") == "mine"
    assert git(world.project, "fsck", "--no-dangling") == ""


@pytest.mark.parametrize(("program", "word"), [("gh", "create"), ("git", "push")])
def test_what_outlives_its_run_does_no_harm(
    world: PublishWorld, github: FakeGitHub, tmp_path: Path, program: str, word: str
):
    """Killed while git pushes or gh creates, which continue alone: nothing is pushed or created twice."""
    worktree = world.work({"mine.txt": "mine"})
    slow = tmp_path / "slow"
    slow.mkdir()
    began = tmp_path / "began"
    real = shutil.which(program)
    body = f"""case " $* " in *" {word} "*) : > "{began}"; sleep 0.5;; *) exec "{real}" "$@";; esac
"{real}" "$@"
: > "{began}.ended"
"""
    (slow / program).write_text(f"#!/bin/sh\n{body}")
    (slow / program).chmod(0o755)
    child = start(world, worktree, "pr", PATH=f"{slow}:{os.environ['PATH']}")
    deadline = time.monotonic() + 60
    while not began.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    child.kill()
    child.communicate()
    pushes = count_pushes(world)
    published = publish(world, worktree, "pr")
    assert isinstance(published, PublishOutcome)
    assert [pull.url for pull in github.pulls] == [published.pr_url]
    wait_for_the_orphan(began)
    assert len(github.pulls) == 1
    assert world.there() == published.commit
    assert not pushes.exists() or pushes.read_text().count("\n") == 1


def test_two_at_once(world: PublishWorld, github: FakeGitHub):
    """Two runs publish one task at the same time: one waits for the other, and there is one pull request."""
    worktree = world.work({"mine.txt": "mine"})
    children = [start(world, worktree, "pr") for _ in range(2)]
    results = [child.communicate(timeout=60) for child in children]
    assert [child.returncode for child in children] == [0, 0], results
    assert len(github.pulls) == 1
