"""What keeps a task of a cluster on the machine that started it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ostler.config.settings import Settings
from ostler.errors import Code, OstlerError
from ostler.git.publish.remote import read_remote
from ostler.git.repository import Repository

_SHARE = "use a directory that all workers share, and set [engine] shared_root = true"


def find_move_obstacles(
    settings: Settings, root: Path, repository: Repository | None, *, is_document: bool = False
) -> list[str]:
    """Return why tasks cannot go on at another machine; empty where they can, or need not.

    `repository` is that of the worktrees; None: tasks work in the project's directory.
    """
    return list(_find(settings, root, repository, is_document)) if settings.engine.moves_tasks else []


def require_movable(
    settings: Settings, root: Path, repository: Repository | None, *, is_document: bool = False
) -> None:
    """Raise CONFIG_INVALID for a task that cannot move: another machine would go on without its work."""
    if obstacles := find_move_obstacles(settings, root, repository, is_document=is_document):
        raise OstlerError(Code.CONFIG_INVALID, "; ".join(obstacles), advise(settings, repository))


def advise(settings: Settings, repository: Repository | None) -> str:
    """Return what makes tasks movable that are not."""
    remote = settings.engine.remote
    lacks_remote = repository is not None and read_remote(repository, remote) is None
    return f"git remote add {remote} URL, or correct engine.remote" if lacks_remote else _SHARE


def _find(settings: Settings, root: Path, repository: Repository | None, is_document: bool) -> Iterator[str]:
    if is_document:
        yield "a document is written into the project of the machine that runs the task"
    elif repository is None and not settings.git.worktree:
        yield f"git.worktree is false, so no other machine finds the changes of a task in {root}"
    elif repository is None:
        yield f"{root} has no git repository, so no other machine finds the changes of a task"
    else:
        yield from _find_in_repository(settings, repository)


def _find_in_repository(settings: Settings, repository: Repository) -> Iterator[str]:
    remote = settings.engine.remote
    if read_remote(repository, remote) is None:
        yield f"{repository.work_tree} has no git remote {remote} (engine.remote), through which tasks move"
    if settings.git.on_complete == "merge":
        yield 'git.on_complete is "merge", which changes only the clone of the machine that merges'
