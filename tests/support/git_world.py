"""A small real repository for tests, without the configuration of the user who runs them."""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path

from ostler.git.commit.checkpoint import Checkpoint, create_checkpoint
from ostler.git.discovery import discover_repository
from ostler.git.identity import OSTLER
from ostler.git.refs import find_base
from ostler.git.repository import Repository, Worktree
from ostler.git.worktree.worktree import prepare_worktree
from templates import copy_template

TASK = "fix-login-ab12"


def git(where: Path, *args: str, check: bool = True, stdin: bytes | None = None) -> str:
    """Run plain git, as a user or an agent would call it."""
    done = subprocess.run(["git", "-C", str(where), *args], capture_output=True, check=False, input=stdin)
    assert not check or done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode(errors="surrogateescape").removesuffix("\n")


def make_first(files: dict[str, str], place: Path) -> None:
    """Make a repository; with files, they are its first commit."""
    git(place, "init", "-q", "-b", "main")
    git(place, "config", "user.name", "Una User")
    git(place, "config", "user.email", "una@example.org")
    if files:
        made = World.__new__(World)
        made.root, made.project = place.parent, place
        made.commit(files, "first")


class World:
    """A project with two commits, and its own home directory."""

    def __init__(self, root: Path, name: str = "project", files: dict[str, str] | None = None) -> None:
        """With files, they are the first commit."""
        self.root = root
        self.project = root / name
        key = ("first", *files.items()) if files else "empty"
        copy_template(key, partial(make_first, files or {}), self.project)

    def commit(self, files: dict[str, str], message: str = "more") -> str:
        for name, text in files.items():
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).write_text(text)
        git(self.project, "add", "-A")
        git(self.project, "commit", "-q", "--allow-empty", "-m", message)
        return git(self.project, "rev-parse", "HEAD")

    @property
    def repository(self) -> Repository:
        found = discover_repository(self.project)
        assert found
        return found

    @property
    def path(self) -> Path:
        return self.repository.work_tree / ".ostler" / "worktrees" / TASK

    def prepare(self, base: str = "") -> Worktree:
        repository = self.repository
        return prepare_worktree(
            repository, self.path, f"ostler/{TASK}", base or find_base(repository).commit, TASK
        )


def registered(repository: Repository) -> list[str]:
    """Return the names of the worktrees that git lists besides the project's own."""
    return sorted(path.name for path in (repository.common_dir / "worktrees").glob("*"))


def commit_step(worktree: Worktree, step: str = "t/1.implement.1/checkpoint") -> Checkpoint:
    trailers = {"Task-Id": TASK, "Phase": "implement", "Attempt": "1", "Step": step}
    return create_checkpoint(worktree, f"[ostler] {TASK}: implement - completed", trailers, OSTLER)


def make_world(root: Path) -> World:
    return World(root, files={"a.txt": "one\n", "sub/b.txt": "two\n", ".gitignore": ".ostler/\nbuild/\n"})


def snapshot_of(project: Path) -> dict[str, bytes]:
    """Return all of a user's checkout that Ostler must not change: files, index, HEAD, stash, branches."""
    state = {}
    for directory, folders, files in os.walk(project):
        folders[:] = [name for name in folders if name not in (".ostler", ".git")]
        for name in files:
            full = Path(directory) / name
            state[str(full.relative_to(project))] = (
                os.readlink(full).encode() if full.is_symlink() else full.read_bytes()
            )
    for name in ("index", "HEAD", "config"):
        state[f".git/{name}"] = (project / ".git" / name).read_bytes()
    state["status"] = git(project, "status", "--porcelain", "-z").encode()
    branches = git(project, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    own = ("refs/heads/ostler/", "refs/ostler/")
    state["refs"] = "\n".join(line for line in branches if not line.startswith(own)).encode()
    return state


BRANCH = f"ostler/{TASK}"


def tree(world: World, commit: str = BRANCH) -> set[str]:
    return {name for name in git(world.project, "ls-tree", "-rz", "--name-only", commit).split("\0") if name}


def agent_commits(world: World, name: str) -> str:
    (world.path / name).write_text(name)
    git(world.path, "add", "-A")
    git(world.path, "commit", "-qm", f"agent: {name}")
    return git(world.path, "rev-parse", "HEAD")


def assert_settled(world: World) -> None:
    assert git(world.path, "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    assert git(world.path, "status", "--porcelain") == ""
