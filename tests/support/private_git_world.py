"""Runs programs as an agent does: in bubblewrap, with the private git directory only."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ostler.git.private.private_git import PrivateGit, create_private_git
from ostler.git.repository import Repository, Worktree

needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


def run_inside(
    private: PrivateGit, work_tree: Path, *argv: str, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program in a sandbox whose only files of the project are the worktree's."""
    options = ["--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--proc", "/proc", "--dev", "/dev"]
    for name in ("bin", "lib", "lib64", "sbin"):
        if Path("/", name).is_symlink():
            options += ["--symlink", os.readlink(f"/{name}"), f"/{name}"]
    options += ["--tmpfs", "/tmp", "--bind", str(work_tree), str(work_tree)]
    for mount in (*private.mounts, *private.pointers):
        how = "--bind" if mount.writable else "--ro-bind"
        options += [how, str(mount.source), str(mount.destination)]
    environ = {"PATH": f"{private.programs}:/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        ["bwrap", "--unshare-all", "--die-with-parent", *options, "--chdir", str(work_tree), *argv],
        env=environ | (env or {}),
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )


class Inside:
    """A worktree with its private git directory."""

    def __init__(self, worktree: Worktree, place: Path) -> None:
        self.worktree, self.place = worktree, place
        self.private = create_private_git(worktree.repository, place)

    def refresh(self) -> None:
        self.private = create_private_git(self.worktree.repository, self.place)

    def sh(self, text: str) -> str:
        """Run a shell script that must succeed; return its output."""
        done = run_inside(self.private, self.worktree.path, "sh", "-ec", text)
        assert done.returncode == 0, done.stderr
        return done.stdout.removesuffix("\n")

    def try_sh(self, text: str) -> subprocess.CompletedProcess[str]:
        return run_inside(self.private, self.worktree.path, "sh", "-c", text)


def as_worktree(repository: Repository, branch: str) -> Worktree:
    """Return a checkout that Ostler did not create as a worktree."""
    return Worktree(repository.work_tree, branch, "", repository.work_tree, repository)
