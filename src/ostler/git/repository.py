"""Where a repository is, as we know it; nothing here is read from a tree that an agent can write."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class Repository(Struct, frozen=True):
    """A work tree and its git directories; every path is absolute."""

    work_tree: Path
    git_dir: Path  # of this work tree
    common_dir: Path  # shared by all work trees: objects, refs, config
    prefix: str = ""  # the project's directory below the work tree


class Worktree(Struct, frozen=True):
    """A task's own checkout."""

    path: Path
    branch: str
    base: str  # the commit that the work starts from
    cwd: Path  # where the agent works: the project's directory in this checkout
    repository: Repository

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"


def worktree_at(project: Repository, path: Path, branch: str, base: str) -> Worktree:
    """The worktree at this path, by what we know; whether it is there is not looked at."""
    return Worktree(
        path=path,
        branch=branch,
        base=base,
        cwd=path / project.prefix,
        repository=Repository(
            work_tree=path,
            git_dir=project.common_dir / "worktrees" / path.name,
            common_dir=project.common_dir,
            prefix=project.prefix,
        ),
    )
