"""The paths of repositories and worktrees; nothing here is read from files that an agent can write."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct


class Repository(Struct, frozen=True):
    """A work tree and its git directories; all paths are absolute."""

    work_tree: Path
    git_dir: Path  # of this work tree
    common_dir: Path  # shared by all worktrees: objects, refs, config
    prefix: str = ""  # the project's directory below the work tree


class Worktree(Struct, frozen=True):
    """The checkout of a task."""

    path: Path
    branch: str
    base: str  # the commit that the branch starts from
    cwd: Path  # working directory of the agent: the project's directory in this checkout
    repository: Repository

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"


def locate_worktree(project: Repository, path: Path, branch: str, base: str) -> Worktree:
    """Return the paths of the worktree; it may not exist."""
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
