"""The private git directory of a task, used by real git in a real sandbox."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from git_world import TASK, World, commit_step, git, make_world
from ostler.git.discovery import discover_repository
from ostler.git.private.importing import import_commits
from ostler.git.refs import find_base
from ostler.git.repository import Repository
from ostler.git.worktree.worktree import prepare_worktree
from private_git_world import Inside, as_worktree, needs_bubblewrap
from unusual_repositories import REPOSITORIES, make_unborn

BRANCH = f"ostler/{TASK}"
pytestmark = needs_bubblewrap


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = make_world(tmp_path)
    git(world.project, "config", "remote.origin.url", "https://user:token@example.org/x.git")
    git(world.project, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(world.project, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    git(world.project, "tag", "-a", "-m", "x", "v1")
    return world


@pytest.fixture
def inside(world: World) -> Inside:
    return Inside(world.prepare(), world.root / "state" / "private")


def found(path: Path) -> Repository:
    repository = discover_repository(path)
    assert repository
    return repository


def test_git_works_inside(world: World, inside: Inside):
    """Status, diff, add, commit, branch, log, stash, rebase and gc work, and the real refs stay."""
    before = git(world.project, "for-each-ref")
    assert inside.sh("git status --porcelain -b") == f"## {BRANCH}"
    assert inside.sh("git rev-parse main origin/main origin/HEAD v1^{commit} HEAD | uniq | wc -l") == "1"
    inside.sh("echo two >> a.txt; git diff --stat main | grep -q a.txt; git stash; git stash pop")
    inside.sh("git add -A; git commit -qm one; git branch side; git log --oneline | grep -q one")
    inside.sh("git checkout -q -b other main; echo x > x; git add x; git commit -qm x; git rebase -q side")
    inside.sh("git checkout -q -; git merge -q other; git gc -q; git fsck --no-dangling; git status")
    assert inside.sh("git log -1 --format='%an %ae'") == "Una User una@example.org"
    assert git(world.project, "for-each-ref") == before


def test_nothing_of_the_real_directory_is_visible(world: World, inside: Inside):
    """The address has no login, and neither the real .git nor its objects can be written."""
    shown = inside.sh("cat .git; git config --list; git remote -v")
    assert "token" not in shown
    assert str(world.project / ".git") not in shown
    assert inside.try_sh("rm -f .git").returncode != 0
    assert inside.try_sh("echo 'gitdir: /tmp/own' > .git").returncode != 0
    assert inside.try_sh("echo x > /run/ostler/objects/0/x").returncode != 0
    assert inside.try_sh(f"ls {world.project}/.git/config").returncode != 0


def test_the_work_of_earlier_attempts_survives_a_refresh(world: World, inside: Inside):
    """Own branches, tags and stashes stay; refs of the user are updated; planted files are replaced."""
    inside.sh("git branch own; git tag mine; echo s >> a.txt; git stash -q; git branch -f main HEAD~0")
    inside.sh("git config core.hooksPath /x; echo /etc > /run/ostler/git/objects/info/alternates")
    inside.sh(
        "cd /run/ostler/git; rm HEAD; ln -s /etc/passwd HEAD; mkdir -p hooks; echo x > hooks/pre-commit"
    )
    new = world.commit({"c.txt": "three\n"})
    inside.refresh()
    assert inside.sh("git rev-parse main") == new
    assert inside.sh("git branch --list own; git tag --list mine; git stash list | wc -l").split() == [
        *("own", "mine", "1")
    ]
    assert inside.sh("git status --porcelain -b") == f"## {BRANCH}"
    assert inside.sh("git config core.hooksPath || ls /run/ostler/git/hooks") == ""
    inside.sh("git stash pop -q; git diff | grep -q '^+s'")


def test_an_unfinished_merge_survives_a_refresh(world: World, inside: Inside):
    """An attempt that continues an interrupted one has the same merge in progress."""
    inside.sh("git branch side; git checkout -q side; echo x > a.txt; git commit -qam x; git checkout -q -")
    inside.sh("git merge -q --no-commit --no-ff side")
    inside.refresh()
    assert inside.sh("git rev-parse MERGE_HEAD side | uniq | wc -l") == "1"


def test_a_sparse_shallow_clone_in_a_subdirectory(world: World, tmp_path: Path):
    """Sparse patterns, shallow history and the project's directory inside the repository are kept."""
    world.commit({"sub/deep/c.txt": "x\n"})
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{world.project}", str(shallow))
    git(shallow, "sparse-checkout", "set", "sub")
    inside = Inside(as_worktree(found(shallow), "main"), tmp_path / "p")
    assert inside.sh("git status --porcelain; git log --oneline | wc -l; cd sub; git status -s") == "1"
    inside.sh("echo x >> sub/b.txt; git commit -qam x; git fsck --no-dangling; git log -p > /dev/null")


@pytest.mark.parametrize("make", (make_unborn, *REPOSITORIES), ids=lambda make: make.__name__)
def test_unusual_repositories(world: World, tmp_path: Path, make: Callable[[World, Path], Path]):
    """A commit works inside whatever the repository is, without a line on the error output."""
    repository = found(make(world, tmp_path / "there"))
    inside = Inside(as_worktree(repository, "main"), tmp_path / "p")
    done = inside.try_sh(
        "git status -s && echo new > n && git add n && git commit -qm new && git show --stat"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "n | 1 +" in done.stdout


def test_status_works_with_submodules(world: World, tmp_path: Path):
    """A submodule that is checked out has a private directory of its own."""
    library = World(tmp_path, "library", {"l.txt": "x\n"})
    allow = ("-c", "protocol.file.allow=always")
    git(world.project, *allow, "submodule", "add", "-q", str(library.project), "lib")
    git(world.project, "commit", "-qm", "lib")
    worktree = world.prepare()
    git(worktree.path, *allow, "submodule", "update", "-q", "--init")
    inside = Inside(worktree, tmp_path / "p")
    assert inside.sh("git status --porcelain; git submodule status | cut -c1") == " "
    inside.sh("cd lib; echo y > l.txt; git commit -qam y; cd ..; git status --porcelain | grep -q 'M lib'")


@pytest.mark.parametrize("make", REPOSITORIES, ids=lambda make: make.__name__)
@pytest.mark.sampled(3)
def test_commits_of_unusual_repositories_are_imported(
    world: World, tmp_path: Path, make: Callable[[World, Path], Path]
):
    """A task in such a repository has its commits on its branch, and the next attempt continues."""
    repository = found(make(world, tmp_path / "there"))
    path = repository.work_tree / ".ostler" / "worktrees" / TASK
    worktree = prepare_worktree(repository, path, BRANCH, find_base(repository).commit, TASK)
    inside = Inside(worktree, tmp_path / "p")
    for number in "12":
        inside.sh(f"echo {number} > n; git add n; git commit -qm agent-{number}; echo more >> n")
        assert import_commits(inside.place, worktree).problem == ""
        commit_step(worktree, f"t/{number}/checkpoint")
        inside.refresh()
        assert (
            inside.sh("git status --porcelain; git log -2 --format=%s").splitlines()[1] == f"agent-{number}"
        )
    assert git(repository.work_tree, "show", f"{BRANCH}:n") == "2\nmore"
