"""The files in the sandbox of a task: its worktree, at its own path and over the user's checkout."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ostler.calls.sandbox.workspace import Workspace
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.worktree import find_worktree
from ostler.files.atomic import make_private_dir
from ostler.files.state_folder import VIEW
from ostler.git.repository import Repository, Worktree
from ostler.git.run.command import query_git
from ostler.git.worktree.work_trees import list_work_trees
from ostler.sandbox.checkout import Checkout
from ostler.sandbox.links.find import find_links
from ostler.sandbox.mounts import Mount, Needs, plan_mounts, prepare_mount_points

_PLACE = "sandbox"


def create_workspace(directory: Path, context: TaskContext, services: StepServices) -> Workspace:
    """Return the files of a program that works in this directory of the task."""
    place = services.layout.task(context.state.task) / _PLACE
    worktree = find_worktree(context.state, services)
    root = services.layout.root
    if worktree is not None and services.repository and directory.is_relative_to(worktree.path):
        mounts = partial(_open_worktree, worktree, services.repository, place, services)
    elif services.repository and not directory.is_relative_to(root):
        mounts = partial(_open_checkout, directory, services.repository)
    else:
        mounts = partial(_open_project, directory, root, place, services.layout.desk(context.state.task))
    return Workspace(directory, place, root, mounts)


@contextmanager
def _open_worktree(
    worktree: Worktree, repository: Repository, place: Path, services: StepServices
) -> Generator[tuple[Mount, ...]]:
    """Mount the worktree over the user's checkout too, so that installed packages import the task's code."""
    checkout = _locate(worktree, repository)
    environ = services.environ
    needs = Needs(services.settings.workspace.link, None, partial(_is_tracked, repository))
    planned = plan_mounts(checkout, find_links(checkout, environ), environ, needs)
    with prepare_mount_points(checkout, planned):
        yield (*planned, Mount(checkout.tree, worktree.path, writable=True))


def _locate(worktree: Worktree, repository: Repository) -> Checkout:
    user, tree = Path(os.path.realpath(repository.work_tree)), Path(os.path.realpath(worktree.path))
    others = tuple(one for one in list_work_trees(repository) if one not in (user, tree))
    return Checkout(tree, user, repository.prefix, others)


def _is_tracked(repository: Repository, path: str) -> bool:
    return bool(query_git(repository, "ls-files", "--", path))


@contextmanager
def _open_checkout(directory: Path, repository: Repository) -> Generator[tuple[Mount, ...]]:
    """Mount the checkout of a commit, and the objects that it borrows."""
    tree = directory
    for _ in Path(repository.prefix).parts:
        tree = tree.parent
    objects = repository.common_dir / "objects"
    yield (Mount(tree, tree, writable=True), Mount(objects, objects))


@contextmanager
def _open_project(directory: Path, root: Path, place: Path, desk: Path) -> Generator[tuple[Mount, ...]]:
    """Mount the project without Ostler's files; it is writable if the task works in it.

    The desk has the state file, in which the agent reports.
    """
    empty, view = place / "empty", root / VIEW
    # Mount points cannot be made in a directory that is mounted read-only.
    for one in (empty, place / "view" / desk.relative_to(view), desk):
        make_private_dir(one)
    mounts = [Mount(root, root, writable=directory == root)]
    git = root / ".git"
    if git.exists():
        mounts.append(Mount(git, git))
    mounts += [Mount(place / "view", view), Mount(desk, desk, writable=True)]
    if (git / "ostler").is_dir():
        mounts.append(Mount(empty, git / "ostler"))
    if directory != root and not directory.is_relative_to(desk):
        mounts.append(Mount(directory, directory, writable=True))
    yield tuple(mounts)
