"""Results of a finished branch: refused, in conflict, merged, or without a remote (C117-C119, X3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from git_world import git, snapshot_of
from ostler.testing.fake_github import FakeGitHub
from workflow_world import RIGHT, SETTINGS, WorkflowWorld

MERGES = SETTINGS.replace('"pr"', '"merge"').replace('"main"', '"release"')


@pytest.fixture
def world(tmp_path: Path, github: FakeGitHub) -> Iterator[WorkflowWorld]:
    """A project whose agent succeeds at once."""
    made = WorkflowWorld(tmp_path, when=[], files={"calc.py": RIGHT})
    made.add_remote(github, tmp_path / "remote.git")
    yield made
    made.close()


def others_push(world: WorkflowWorld, path: str, text: str) -> None:
    """Commit to the remote's main as another person."""
    clone = world.root.parent / "theirs"
    if not clone.exists():
        world.git("clone", "-q", str(world.root.parent / "remote.git"), str(clone))
    (clone / path).write_text(text)
    git(clone, "add", "-A")
    git(clone, "-c", "user.name=t", "-c", "user.email=t@x", "commit", "-q", "-m", "theirs")
    git(clone, "push", "-q", "origin", "main")


def test_a_github_that_refuses_is_asked_again(world: WorkflowWorld, github: FakeGitHub) -> None:
    """Failed with its code, the worktree is kept; retry publishes without another agent call or gate."""
    github.fail("PullRequestCreate", "forbidden")
    task = world.new()
    world.ostler("run", task, code=1)
    shown = world.show(task)
    assert (shown["status"], shown["code"], shown["pr_url"]) == ("failed", "PUBLISH_FAILED", None)
    assert Path(shown["worktree"]).is_dir()
    world.ostler("retry", task)
    world.ostler("run", task)
    shown = world.show(task)
    (pull,) = github.pulls
    assert (shown["status"], shown["pr_url"], shown["worktree"]) == ("completed", pull.url, None)
    assert len(world.started()) == 2
    assert len(world.commits(task)) == 2


@pytest.mark.full
def test_a_conflict_waits_for_a_person(world: WorkflowWorld, github: FakeGitHub) -> None:
    """Blocked with the file's name, nothing published; solved in the worktree and resumed it continues."""
    others_push(world, "calc.py", "def add(a, b):\n    return sum((a, b))\n")
    task = world.new()
    world.ostler("run", task, code=4)
    shown = world.show(task)
    assert (shown["status"], shown["code"]) == ("blocked", "MERGE_CONFLICT")
    assert "calc.py" in shown["message"]
    assert github.pulls == ()
    worktree = Path(shown["worktree"])
    git(worktree, "fetch", "-q", "origin", "main")
    git(worktree, "-c", "user.name=t", "-c", "user.email=t@x", "merge", "-q", "-s", "ours", "FETCH_HEAD")
    world.ostler("resume", task)
    world.ostler("run", task)
    shown = world.show(task)
    (pull,) = github.pulls
    assert (shown["status"], shown["pr_url"]) == ("completed", pull.url)
    assert world.read(task) == RIGHT
    assert len(world.started()) == 2


@pytest.mark.full
def test_the_branch_is_rebased_on_a_target_that_moved(world: WorkflowWorld, github: FakeGitHub) -> None:
    """Rebased at the end: the pull request is on top of the others' work, the record has its new commit."""
    others_push(world, "other.txt", "theirs\n")
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    (pull,) = github.pulls
    assert pull.commit == shown["commit"] == world.git("rev-parse", f"ostler/{task}").strip()
    assert world.read(task, "other.txt") == "theirs\n" and world.read(task) == RIGHT


def test_no_remote_leaves_the_branch_and_is_reported(world: WorkflowWorld, github: FakeGitHub) -> None:
    """Completed, with a notice, and no pull request."""
    world.git("remote", "remove", "origin")
    task = world.new()
    world.ostler("run", task)
    shown = world.show(task)
    assert (shown["status"], shown["pr_url"], github.pulls) == ("completed", None, ())
    assert any("there is no remote" in warning for warning in shown["warnings"])


def test_a_merge_leaves_the_checkout_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The target has the work, by a merge that names the task; the user's checkout is unchanged."""
    monkeypatch.setenv("GIT_OPTIONAL_LOCKS", "0")
    world = WorkflowWorld(tmp_path, MERGES, when=[], files={"calc.py": RIGHT})
    world.git("branch", "release")
    (world.root / "calc.py").write_text("half done\n")
    before = snapshot_of(world.root)
    task = world.new("Mend the sum")
    world.ostler("run", task)
    assert world.show(task)["status"] == "completed"
    assert world.git("show", "release:calc.py") == RIGHT
    assert task in world.git("log", "-1", "--format=%s", "release")
    after = snapshot_of(world.root)
    changed = {name for name in after.keys() | before.keys() if before.get(name) != after.get(name)}
    assert changed == {"refs"}, "only the target moved"
    world.close()
