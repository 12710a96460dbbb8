"""Commits that an agent made in its private git directory, imported into the user's repository."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from git_world import (
    BRANCH,
    TASK,
    World,
    agent_commits,
    assert_settled,
    commit_step,
    git,
    make_world,
    snapshot_of,
    tree,
)
from ostler.git.left.submodules import find_changed
from ostler.git.private import quarantine
from ostler.git.private.importing import import_commits, kept_agent_ref
from private_git_world import Inside, needs_bubblewrap

pytestmark = needs_bubblewrap
COMMIT = "git add -A; git commit -qm agent"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


@pytest.fixture
def inside(world: World) -> Inside:
    return Inside(world.prepare(), world.root / "private")


def take(inside: Inside) -> str:
    """Import, and return the problem."""
    return import_commits(inside.place, inside.worktree).problem


def test_commits_become_part_of_the_branch(world: World, inside: Inside):
    """The agent's commits keep their names, and the checkpoint continues from them."""
    before = snapshot_of(world.project)
    inside.sh(f"echo new > new.txt; {COMMIT}; echo more >> new.txt")
    commit = inside.sh("git rev-parse HEAD")
    imported = import_commits(inside.place, inside.worktree)
    assert (imported.commit, imported.kept, imported.problem) == (commit, {}, "")
    assert git(world.project, "rev-parse", BRANCH) == commit
    assert git(world.path, "status", "--porcelain") == " M new.txt"
    made = commit_step(inside.worktree)
    assert git(world.project, "rev-parse", f"{made.commit}^") == commit
    assert git(world.project, "show", f"{BRANCH}:new.txt") == "new\nmore"
    assert_settled(world)
    assert git(world.project, "fsck", "--strict", "--no-dangling") == ""
    assert snapshot_of(world.project) == before


def test_a_second_import_does_not_undo_the_checkpoint(world: World, inside: Inside):
    """After the checkpoint the branch stays, even if the record was lost."""
    inside.sh(f"echo new > new.txt; {COMMIT}")
    assert take(inside) == ""
    made = commit_step(inside.worktree)
    assert take(inside) == ""
    assert git(world.project, "rev-parse", BRANCH) == made.commit
    (inside.place / "record.json").unlink()
    assert take(inside) == ""
    assert git(world.project, "rev-parse", BRANCH) == made.commit


def test_attempts_follow_each_other(world: World, inside: Inside):
    """Commit, checkpoint, refresh: the next attempt starts at the checkpoint with a clean index."""
    for number in ("1", "2"):
        inside.sh(f"echo {number} > n.txt; {COMMIT}; echo more >> n.txt")
        assert take(inside) == ""
        made = commit_step(inside.worktree, f"t/{number}/checkpoint")
        assert take(inside) == ""  # before each start, for an attempt that a kill ended
        assert_settled(world)
        inside.refresh()
        assert inside.sh("git rev-parse HEAD; git status --porcelain") == made.commit
    assert git(world.project, "rev-list", "--count", f"main..{BRANCH}") == "4"


def test_a_rewritten_branch_replaces_the_old_one(world: World, inside: Inside):
    """An agent may amend, reset and rebase its own branch, as without a sandbox."""
    inside.sh(f"echo a > n.txt; {COMMIT}")
    assert take(inside) == ""
    inside.refresh()
    inside.sh("echo b > n.txt; git commit -qa --amend -m better")
    assert take(inside) == ""
    assert git(world.project, "log", "--format=%s", f"main..{BRANCH}") == "better"


def test_other_branches_and_tags_are_kept_for_the_task(world: World, inside: Inside):
    """The user's main stays; commits of the agent on it and elsewhere are kept below refs/ostler."""
    main = git(world.project, "rev-parse", "main")
    inside.sh(f"git checkout -q main; echo m > m.txt; {COMMIT}; git tag mine; git checkout -q -b side")
    inside.sh(f"echo s > s.txt; {COMMIT}; echo t > a.txt; git stash -q; git checkout -q {BRANCH}")
    names = ("refs/heads/main", "refs/heads/side", "refs/stash", "refs/tags/mine")
    values = inside.sh(f"git rev-parse {' '.join(names)}").split()
    imported = import_commits(inside.place, inside.worktree)
    assert imported.kept == {name: kept_agent_ref(TASK, name) for name in names}
    assert git(world.project, "rev-parse", *imported.kept.values()).split() == values
    assert git(world.project, "rev-parse", "main") == main
    assert git(world.project, "branch", "--list", "side") == ""
    assert git(world.project, "rev-parse", BRANCH) == main


def test_a_branch_with_the_name_of_an_earlier_directory_is_kept(world: World, inside: Inside):
    """git cannot have the refs x and x/y: the second one is kept by its commit."""
    inside.sh(f"git checkout -q -b x; echo 1 > n; {COMMIT}; git checkout -q {BRANCH}")
    assert take(inside) == ""
    inside.refresh()
    inside.sh(f"git branch -q -m x x/y; git checkout -q x/y; echo 2 > n; {COMMIT}; git checkout -q {BRANCH}")
    commit = inside.sh("git rev-parse x/y")
    kept = import_commits(inside.place, inside.worktree).kept
    assert kept == {"refs/heads/x/y": f"refs/ostler/agent/{TASK}/commits/{commit}"}
    assert git(world.project, "rev-parse", *kept.values()) == commit


def test_head_elsewhere_is_merged_by_the_checkpoint(world: World, inside: Inside):
    """Commits on a branch of the agent's own become part of the task's branch."""
    inside.sh(f"git checkout -q -b side; echo s > s.txt; {COMMIT}")
    assert take(inside) == ""
    commit_step(inside.worktree)
    assert "s.txt" in tree(world)
    assert "agent" in git(world.project, "log", "--format=%s", f"main..{BRANCH}").split("\n")
    assert_settled(world)


def test_a_commit_of_the_user_meanwhile_is_not_lost(world: World, inside: Inside):
    """If someone else moved the task's branch, the checkpoint merges both."""
    theirs = agent_commits(world, "theirs.txt")
    inside.sh(f"echo a > agents.txt; {COMMIT}")
    ours = inside.sh("git rev-parse HEAD")
    assert take(inside) == ""
    assert git(world.project, "rev-parse", BRANCH) == theirs
    made = commit_step(inside.worktree)
    assert git(world.project, "rev-parse", f"{made.commit}^1", f"{made.commit}^2").split() == [theirs, ours]


def test_an_ignored_file_that_the_agent_added_is_committed(world: World, inside: Inside):
    """git add -f works as without a sandbox: committed or only staged."""
    inside.sh(f"mkdir build; echo 1 > build/one; git add -f build/one; {COMMIT}")
    inside.sh("echo 2 > build/two; git add -f build/two")
    assert take(inside) == ""
    commit_step(inside.worktree)
    assert {"build/one", "build/two"} <= tree(world)


def test_packed_objects_are_imported(world: World, inside: Inside):
    """git gc inside changes nothing."""
    inside.sh(
        f"echo a > n.txt; {COMMIT}; echo b > n.txt; {COMMIT}; git gc -q --prune=now; git pack-refs --all"
    )
    assert take(inside) == ""
    assert git(world.project, "rev-list", "--count", f"main..{BRANCH}") == "2"
    assert git(world.project, "fsck", "--strict", "--no-dangling") == ""


def test_commits_in_a_submodule_are_imported(world: World, tmp_path: Path):
    """The submodule's own repository has the commit that the task's branch refers to."""
    library = World(tmp_path, "library", {"l.txt": "x\n"})
    allow = ("-c", "protocol.file.allow=always")
    git(world.project, *allow, "submodule", "add", "-q", str(library.project), "lib")
    git(world.project, "commit", "-qm", "lib")
    worktree = world.prepare()
    git(worktree.path, *allow, "submodule", "update", "-q", "--init")
    inside = Inside(worktree, tmp_path / "private")
    inside.sh(f"cd lib; echo y > l.txt; {COMMIT}; cd ..; {COMMIT}")
    commit = inside.sh("git -C lib rev-parse HEAD")
    assert take(inside) == ""
    assert git(worktree.path / "lib", "rev-parse", "HEAD") == commit
    assert git(worktree.path / "lib", "status", "--porcelain") == ""
    assert git(world.project, "rev-parse", f"{BRANCH}:lib") == commit
    commit_step(inside.worktree)
    assert_settled(world)
    assert find_changed(worktree.path, {"lib": commit}, {}) != {}  # it is not published


def test_large_files_of_git_lfs_are_copied_by_their_hash(world: World, inside: Inside):
    """A file that git-lfs stored inside is in the user's store; one with another content or a link is not."""
    store = inside.place / "git" / "lfs" / "objects"
    names = [hashlib.sha256(text).hexdigest() for text in (b"large", b"other", b"secret")]
    paths = [store / name[:2] / name[2:4] / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True)
    paths[0].write_bytes(b"large")
    paths[1].write_bytes(b"forged")
    (world.root / "secret").write_bytes(b"secret")
    paths[2].symlink_to(world.root / "secret")
    inside.sh(f"echo pointer > p.bin; {COMMIT}")
    assert take(inside) == ""
    found = [path for path in (world.project / ".git" / "lfs").rglob("*") if path.is_file()]
    assert [(path.name, path.read_bytes()) for path in found] == [(names[0], b"large")]


def test_too_many_bytes_are_refused(world: World, inside: Inside, monkeypatch: pytest.MonkeyPatch):
    """A limit on all objects; the files are committed without the agent's commits."""
    monkeypatch.setattr(quarantine, "MAX_BYTES", 100_000)
    inside.sh(f"head -c 300000 /dev/urandom > big; {COMMIT}")
    assert "exceeds the limit" in take(inside)
    assert not (inside.place / "quarantine").exists()
    commit_step(inside.worktree)
    assert "big" in tree(world)


@pytest.mark.full
def test_a_large_file_is_imported(world: World, inside: Inside):
    """A file of 20 MB is no problem."""
    inside.sh(f"head -c 20000000 /dev/urandom > big; {COMMIT}")
    assert take(inside) == ""
    assert git(world.project, "cat-file", "-s", f"{BRANCH}:big") == "20000000"


CHILD = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
from git_world import World
from ostler.git.left.submodules import find_changed
from ostler.git.private import quarantine
from ostler.git.private.importing import import_commits
world = World.__new__(World)
world.project = Path({project!r})
import_commits(Path({place!r}), world.prepare())
"""
POINTS = ("checked", "packed", "moved", "index")


@pytest.mark.parametrize("point", ["branch", *(pytest.param(one, marks=pytest.mark.full) for one in POINTS)])
def test_killed_during_the_import(world: World, inside: Inside, point: str):
    """A kill at any point: the next import ends with the same refs, index and files."""
    inside.sh(f"echo a > n.txt; {COMMIT}; git branch other; echo staged > s.txt; git add s.txt")
    commit = inside.sh("git rev-parse HEAD")
    code = CHILD.format(path=sys.path, project=str(world.project), place=str(inside.place))
    env = os.environ | {"OSTLER_FAILPOINT": f"import.{point}:kill"}
    assert subprocess.run([sys.executable, "-c", code], env=env, check=False).returncode == -signal.SIGKILL
    imported = import_commits(inside.place, inside.worktree)
    assert (imported.problem, git(world.project, "rev-parse", BRANCH)) == ("", commit)
    assert git(world.project, "rev-parse", kept_agent_ref(TASK, "refs/heads/other")) == commit
    assert git(world.path, "status", "--porcelain") == "A  s.txt"
    assert not (inside.place / "quarantine").exists()
    commit_step(inside.worktree)
    assert_settled(world)
