"""A project with a bare remote, configured in the user's own configuration, for tests that publish."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from git_world import BRANCH, World, commit_step, git, make_world
from ostler.git.identity import OSTLER
from ostler.git.publish.proposal import Proposal
from ostler.git.publish.publish import PublishOutcome, publish_pull_request
from ostler.git.publish.remote import Remote, find_remote
from ostler.git.repository import Worktree
from ostler.testing.fake_github import FakeGitHub
from templates import copy_template

ADDRESS = "http://github.localhost/acme/app.git"
PROPOSAL = Proposal("[ostler] Fix the login", "## Summary\n\nDone.\n")


def make_published(root: Path) -> None:
    """A project, and the bare repository that it was pushed to."""
    made, bare = make_world(root), root / "remote.git"
    leads = ("-c", f"url.{bare}.insteadOf={ADDRESS}")
    git(root, "init", "-q", "--bare", "-b", "main", str(bare))
    git(made.project, "remote", "add", "origin", ADDRESS)
    git(made.project, *leads, "push", "-q", "origin", "main")
    git(made.project, *leads, "fetch", "-q", "origin")


class PublishWorld(World):
    """`origin` has an address on GitHub, which the user's insteadOf turns into a bare directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project, self.bare = root / "project", root / "remote.git"
        copy_template("published", make_published, root)
        git(self.project, "config", "--global", f"url.{self.bare}.insteadOf", ADDRESS)

    @property
    def remote(self) -> Remote:
        found = find_remote(self.repository)
        assert found
        return found

    def work(self, files: dict[str, str], step: str = "t/1.implement.1/checkpoint") -> Worktree:
        """Return the task's worktree with one more commit of Ostler."""
        worktree = self.prepare()
        for name, text in files.items():
            (worktree.path / name).parent.mkdir(parents=True, exist_ok=True)
            (worktree.path / name).write_text(text)
        commit_step(worktree, step)
        return worktree

    def others_push(self, files: dict[str, str], branch: str = "main", message: str = "theirs") -> str:
        """Push a commit of another person to the remote, from another clone."""
        clone = self.root / "theirs"
        if not clone.exists():
            git(self.root, "clone", "-q", str(self.bare), str(clone))
        git(clone, "fetch", "-q", "origin")
        git(clone, "checkout", "-q", "-B", branch, f"origin/{branch}")
        for name, text in files.items():
            (clone / name).write_text(text)
        git(clone, "add", "-A")
        git(
            clone, "-c", "user.name=t", "-c", "user.email=t@x", "commit", "-q", "--allow-empty", "-m", message
        )
        git(clone, "push", "-q", "origin", branch)
        return git(clone, "rev-parse", "HEAD")

    def there(self, branch: str = BRANCH) -> str:
        """Return the remote's commit of a branch; empty when it has none."""
        return git(self.bare, "rev-parse", "-q", "--verify", f"refs/heads/{branch}", check=False)

    def publish(self, worktree: Worktree, proposal: Proposal = PROPOSAL) -> PublishOutcome:
        return publish_pull_request(worktree, "main", proposal, OSTLER)


@contextmanager
def open_github(bare: Path | None, files_text: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    """A fake GitHub whose branches are in that directory, and a gh that uses it.

    That is the gh which the development extra installed beside the interpreter, else the machine's own.
    """
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    with FakeGitHub("acme/app", bare) as made:
        for name, value in made.environment(files_text).items():
            monkeypatch.setenv(name, value)
        yield made
