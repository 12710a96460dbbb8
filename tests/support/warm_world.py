"""A repository whose released worktrees are kept, and how a tree is compared with a new one."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

from git_world import World, git
from ostler.git.refs import find_base
from ostler.git.repository import Worktree
from ostler.git.worktree import worktree_pool as warm
from ostler.git.worktree.worktree import prepare_worktree, release_worktree
from ostler.git.worktree.worktree_pool import WorktreePool, find_available_entries
from templates import copy_template

LEAK = "leak-5d41"
FILES = {
    "a.txt": "one\n",
    "b.txt": "two\n",
    "sub/c.txt": "three\n",
    "sub/deep/d.txt": "four\n",
    "run.sh": "#!/bin/sh\n",
    ".gitignore": ".ostler/\nbuild/\n",
}


class WarmWorld(World):
    """With a program, a link and an empty submodule among its files."""

    def __init__(self, root: Path) -> None:
        self.root, self.project = root, root / "project"
        copy_template("warm", make_warm, root)

    @classmethod
    def at(cls, project: Path) -> WarmWorld:
        """The same one as another process finds it."""
        found = cls.__new__(cls)
        found.root, found.project = project.parent, project
        return found

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).write_text(text)

    @property
    def worktrees(self) -> Path:
        return self.repository.work_tree / ".ostler" / "worktrees"

    @property
    def pool(self) -> WorktreePool:
        return WorktreePool(self.worktrees, 2)

    @property
    def kept(self) -> list[str]:
        return [place.path.name for place in find_available_entries(self.pool)]

    def clean_ahead(self) -> None:
        """Do what a run does beside its work, and wait for it."""
        warm.tidy_pool_later(self.pool, self.repository)
        for thread in threading.enumerate():
            if thread.name == f"tidy {self.worktrees}":
                thread.join(60)

    def begin(self, name: str, warm: int = 2) -> Worktree:
        repository = self.repository
        base = find_base(repository).commit
        return prepare_worktree(repository, self.worktrees / name, f"ostler/{name}", base, name, warm)

    def begin_and_end(self, name: str, warm: int = 2) -> None:
        release_worktree(self.begin(name, warm), warm)


def make_warm(root: Path) -> None:
    """A project with the files of a `WarmWorld`."""
    project = World(root).project
    made = WarmWorld.at(project)
    made.write(FILES)
    (project / "run.sh").chmod(0o755)
    (project / "link").symlink_to("sub/c.txt")
    git(project, "add", "-A")
    git(project, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendored")
    git(project, "commit", "-qm", "first")


def picture(tree: Path) -> dict[str, tuple[object, ...]]:
    """Return everything visible of a worktree, except the times of its creation."""
    found = {".": about(tree)}
    for folder, folders, files in os.walk(tree):
        for name in (*folders, *files):
            path = Path(folder) / name
            found[os.path.relpath(path, tree)] = about(path)
    pointer = found.pop(".git")
    assert pointer[0] == stat.S_IFREG | stat.S_IMODE(tree.stat().st_mode) & 0o666
    return found


def about(path: Path) -> tuple[object, ...]:
    known = path.lstat()
    content: object = None
    if path.is_symlink():
        content = os.readlink(path)
    elif path.is_file():
        content = path.read_bytes()
    links = known.st_nlink if not path.is_dir() else 0
    return known.st_mode, known.st_uid, links, content, tuple(os.listxattr(path, follow_symlinks=False))


def registration(worktree: Worktree) -> set[str]:
    """Return the names of git's files about it."""
    admin = worktree.repository.git_dir
    return {str(path.relative_to(admin)) for path in admin.rglob("*")}


def inodes(tree: Path) -> set[int]:
    return {path.lstat().st_ino for path in tree.rglob("*") if path.is_file() and path.name != ".git"}
