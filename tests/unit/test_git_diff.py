from __future__ import annotations

from pathlib import Path

import pytest

from git_world import TASK, World, commit_step, git, make_world, snapshot_of
from ostler.git.commit.diff import (
    DiffStat,
    diff_commits,
    diff_worktree,
    has_changed_since,
    read_diff_stat,
    write_current_tree,
)

REF = f"refs/heads/ostler/{TASK}"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def write(path: Path) -> None:
    (path / "new.txt").write_text("new\n")


def stage(path: Path) -> None:
    write(path)
    git(path, "add", "-A")


def commit(path: Path) -> None:
    stage(path)
    git(path, "commit", "-qm", "own")


def detach_and_commit(path: Path) -> None:
    git(path, "switch", "-q", "--detach")
    commit(path)


def replace_by_directory(path: Path) -> None:
    (path / "a.txt").unlink()
    (path / "a.txt").mkdir()


CHANGES = [
    write,
    stage,
    commit,
    detach_and_commit,
    replace_by_directory,
    lambda path: (path / "a.txt").unlink(),
    lambda path: (path / "a.txt").write_text("one more\n"),
    lambda path: (path / "a.txt").chmod(0o755),
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_kind_of_change_is_a_change(world: World, change):
    """Written, staged, committed, committed on another branch, deleted and made executable."""
    worktree = world.prepare()
    change(worktree.path)
    assert has_changed_since(worktree, worktree.base)


def ignore(path: Path) -> None:
    (path / "build").mkdir()
    (path / "build" / "out").write_text("x")
    (path / ".ostler").mkdir()
    (path / ".ostler" / "state.yaml").write_text("x")


def touch(path: Path) -> None:
    (path / "a.txt").write_text((path / "a.txt").read_text())


@pytest.mark.parametrize("nothing", [lambda path: None, ignore, touch])
def test_what_is_no_change(world: World, nothing):
    """Ignored files, Ostler's own state and a rewrite of the same bytes are not changes."""
    worktree = world.prepare()
    nothing(worktree.path)
    assert not has_changed_since(worktree, worktree.base)


def test_changed_since_a_checkpoint(world: World):
    """A checkpoint resets the result."""
    worktree = world.prepare()
    write(worktree.path)
    made = commit_step(worktree).commit
    assert not has_changed_since(worktree, made)
    assert has_changed_since(worktree, worktree.base)


def test_uncommitted_work_is_in_the_diff(world: World):
    """Untracked, staged and deleted files are shown, and the diff changes nothing."""
    worktree = world.prepare()
    stage(worktree.path)
    (worktree.path / "untracked é.txt").write_text("u\n")
    (worktree.path / "a.txt").unlink()
    index = (worktree.repository.git_dir / "index").read_bytes()
    before = snapshot_of(world.project)
    patch = diff_worktree(worktree)
    assert b"+new\n" in patch and b"+u\n" in patch and b"-one\n" in patch
    assert read_diff_stat(worktree.repository, worktree.base, write_current_tree(worktree)) == DiffStat(
        files=3, insertions=2, deletions=1
    )
    assert (worktree.repository.git_dir / "index").read_bytes() == index
    assert snapshot_of(world.project) == before
    assert sorted(path.name for path in worktree.repository.git_dir.iterdir() if "ostler" in path.name) == []


def test_the_diff_of_a_branch_survives_its_worktree(world: World):
    """Without the worktree the branch gives the same patch."""
    worktree = world.prepare()
    (worktree.path / "new.txt").write_text("new\n")
    before = diff_worktree(worktree)
    commit_step(worktree)
    assert diff_commits(world.repository, worktree.base, REF) == before
    assert read_diff_stat(world.repository, worktree.base, REF) == DiffStat(1, 1, 0)


def test_renames_binaries_and_settings_of_the_user(world: World):
    """A rename is one file, a binary has no lines, and the user's display settings change nothing."""
    world.commit({"long.txt": "".join(f"line {n}\n" for n in range(50))})
    for key, value in {"color.ui": "always", "diff.noprefix": "true", "diff.renames": "false"}.items():
        git(world.project, "config", key, value)
    worktree = world.prepare()
    (worktree.path / "long.txt").rename(worktree.path / "tab\tand\nline.txt")
    (worktree.path / "binary").write_bytes(bytes(range(256)))
    patch = diff_worktree(worktree)
    assert b"rename from long.txt" in patch and b"--git a/" in patch and b"\x1b[" not in patch
    assert read_diff_stat(worktree.repository, worktree.base, write_current_tree(worktree)) == DiffStat(
        files=2, insertions=0, deletions=0
    )
