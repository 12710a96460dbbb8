from __future__ import annotations

import os
from pathlib import Path

import pytest

from git_world import TASK, World, commit_step, git, make_world
from ostler.errors import Code, GitError

BRANCH = f"ostler/{TASK}"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = make_world(tmp_path)
    made.commit({".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n*.key filter=crypt\n"})
    return made


@pytest.fixture
def no_lfs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """PATH with git alone, and a directory for a fake git-lfs."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("git", "sh"):
        found = next(
            Path(place, name) for place in os.environ["PATH"].split(":") if Path(place, name).exists()
        )
        os.symlink(found, programs / name)
    monkeypatch.setenv("PATH", str(programs))
    return programs


def refused(world: World, worktree) -> GitError:
    with pytest.raises(GitError) as caught:
        commit_step(worktree)
    assert caught.value.code is Code.LFS_UNAVAILABLE
    assert git(world.project, "rev-parse", BRANCH) == worktree.base
    return caught.value


def test_without_git_lfs_nothing_is_committed_as_a_blob(world: World, no_lfs: Path):
    """A large file for git-lfs stops the checkpoint; the branch is unchanged."""
    worktree = world.prepare()
    (worktree.path / "large.bin").write_bytes(b"\0" * 100)
    assert "large.bin" in refused(world, worktree).message
    (worktree.path / "large.bin").unlink()
    assert commit_step(worktree).commit


def test_a_pointer_is_committed_as_it_is(world: World, no_lfs: Path):
    """A file that already is a pointer needs no filter."""
    worktree = world.prepare()
    (worktree.path / "large.bin").write_text(POINTER)
    commit_step(worktree)
    assert git(world.project, "show", f"{BRANCH}:large.bin") == POINTER.rstrip("\n")


def test_a_deleted_large_file_needs_no_filter(world: World, no_lfs: Path):
    """Deleting a file works without the program of its filter."""
    world.commit({"large.bin": POINTER})
    worktree = world.prepare()
    (worktree.path / "large.bin").unlink()
    commit_step(worktree)
    assert "large.bin" not in git(world.project, "ls-tree", "--name-only", BRANCH).splitlines()


def test_with_git_lfs_the_pointer_is_committed(world: World, no_lfs: Path):
    """An installed git-lfs cleans the file, although the repository's own filters are disabled."""
    program = no_lfs / "git-lfs"
    program.write_text(f"#!/bin/sh\n[ \"$1\" = clean ] || exit 1\nprintf '%s' '{POINTER}'\n")
    program.chmod(0o755)
    git(world.project, "config", "filter.lfs.clean", "exit 1")
    worktree = world.prepare()
    (worktree.path / "large.bin").write_bytes(b"\0" * 100)
    commit_step(worktree)
    assert git(world.project, "show", f"{BRANCH}:large.bin") == POINTER.rstrip("\n")


def test_a_git_lfs_that_fails_commits_nothing(world: World, no_lfs: Path):
    """A failing filter ends the checkpoint; the raw content is not committed."""
    (no_lfs / "git-lfs").write_text("#!/bin/sh\nexit 3\n")
    (no_lfs / "git-lfs").chmod(0o755)
    worktree = world.prepare()
    (worktree.path / "large.bin").write_bytes(b"\0" * 100)
    refused(world, worktree)


def test_a_required_filter_is_not_left_out(world: World):
    """In a repository that encrypts committed files, Ostler never commits the plain text."""
    git(world.project, "config", "filter.crypt.clean", "tr a-z b-za")
    git(world.project, "config", "filter.crypt.required", "true")
    worktree = world.prepare()
    (worktree.path / "secret.key").write_text("secret")
    assert "crypt" in refused(world, worktree).message


def test_a_filter_that_is_not_required_is_left_out(world: World):
    """An optional filter of the user does not stop the checkpoint."""
    git(world.project, "config", "filter.crypt.clean", "tr a-z b-za")
    worktree = world.prepare()
    (worktree.path / "secret.key").write_text("secret")
    commit_step(worktree)
    assert git(world.project, "show", f"{BRANCH}:secret.key") == "secret"
