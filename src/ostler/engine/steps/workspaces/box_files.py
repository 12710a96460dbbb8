"""The files in the sandbox of a task: its worktree, at its own path and over the user's checkout."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ostler.calls.sandbox.pinned_configuration import (
    PinnedTree,
    hide_configuration,
    pin_configuration,
    pin_in_place,
)
from ostler.calls.sandbox.workspace import Workspace, create_plain_workspace
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.configuration import find_pinned_tree
from ostler.engine.steps.workspaces.sandboxed_shell import list_records
from ostler.engine.steps.workspaces.worktree import find_worktree
from ostler.files.atomic import make_private_dir
from ostler.files.layout import Layout
from ostler.files.state_folder import STATE, VIEW
from ostler.git.discovery import discover_repository
from ostler.git.private.private_git import BIN, GIT, INSIDE, GitMount, PrivateGit, create_private_git
from ostler.git.private.unsandboxed import refuse_push_variables
from ostler.git.repository import Repository, Worktree
from ostler.git.run.command import query_git
from ostler.git.worktree.trash import empty_trash_later, erase
from ostler.git.worktree.work_trees import list_work_trees
from ostler.sandbox.mounts import Mount, Needs, plan_mounts, prepare_mount_points
from ostler.skills.working_directory import INPUTS, SKILL

if TYPE_CHECKING:
    from ostler.sandbox.checkout import Checkout

_REVIEWS = "reviews"  # in the directory of the task's sandbox


def create_workspace(
    directory: Path, context: TaskContext, services: StepServices, *, pins: bool = True, review: str = ""
) -> Workspace:
    """Return the files of a program that works in this directory of the task.

    `pins`: the configuration that programs execute is that of the base commit. `review`: the key of a review,
    which has a home directory of its own: the agent whose work is reviewed must not have written there.
    """
    place, records = services.layout.sandbox(context.state.task), list_records(services)
    place = _find_review_place(place, review) if review else place
    worktree = find_worktree(context.state, services)
    root = services.layout.root
    if worktree is not None and services.repository and directory.is_relative_to(worktree.path):
        pinned = find_pinned_tree(context.state, services) if pins else None
        mounts = partial(_open_worktree, worktree, services.repository, pinned, place / GIT, services)
        guard = partial(refuse_push_variables, worktree.repository, place / "push")
        return Workspace(
            directory, place, root, mounts, programs=(INSIDE / BIN,), guard=guard, records=records
        )
    if services.repository and not directory.is_relative_to(root):
        pinned = find_pinned_tree(context.state, services) if pins else None
        mounts = partial(_open_checkout, directory, services.repository, pinned)
    else:
        desk, exempt = services.layout.desk(context.state.task), services.settings.sandbox.writable_config
        mounts = partial(_open_project, directory, root, place, desk, services.repository, exempt)
    programs = (INSIDE / BIN,) if services.repository else ()
    own = find_project_programs(root) if context.state.plan.is_document else ()
    guard = partial(_add_programs, own) if own else None
    return Workspace(directory, place, root, mounts, programs=(*programs, *own), guard=guard, records=records)


def find_project_programs(root: Path) -> tuple[Path, ...]:
    """Return the programs of the project's Python environment, in which scripts of skills find packages."""
    folder = root / ".venv" / "bin"
    return (folder,) if (folder / "python").exists() else ()


def _add_programs(folders: tuple[Path, ...], env: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.pathsep.join((*map(str, folders), env.get("PATH", os.defpath)))}


def _find_review_place(place: Path, key: str) -> Path:
    """Return the private files of one review; those of earlier reviews are deleted."""
    from ostler.sandbox.links.link import list_directory  # noqa: PLC0415  (imported on use)

    name = blake2b(key.encode(), digest_size=8).hexdigest()
    for old in list_directory(place / _REVIEWS):
        if old.name != name:
            erase(Path(old.path), place)
    return place / _REVIEWS / name


def create_session_workspace(directory: Path, layout: Layout) -> Workspace:
    """Return the files of an agent without a task that works in this directory of the project."""
    directory = directory.resolve()
    name = blake2b(os.fsencode(directory), digest_size=8).hexdigest()
    place = layout.state / "sandboxes" / name
    if not directory.is_relative_to(layout.root):
        return create_plain_workspace(directory, layout.state)
    repository = discover_repository(layout.root)
    mounts = partial(_open_project, directory, layout.root, place, None, repository)
    programs = (INSIDE / BIN,) if repository else ()
    records = (layout.state, layout.view)
    return Workspace(directory, place, layout.root, mounts, programs=programs, records=records)


@contextmanager
def _open_worktree(
    worktree: Worktree,
    repository: Repository,
    pinned: PinnedTree | None,
    git_place: Path,
    services: StepServices,
) -> Generator[tuple[Mount, ...]]:
    """Mount the worktree over the user's checkout too, so that installed packages import the task's code."""
    from ostler.sandbox.links.find import find_links  # noqa: PLC0415  (imported on use)
    from ostler.sandbox.links.hops import mount_hops  # noqa: PLC0415  (imported on use)

    checkout = _locate(worktree, repository)
    environ = services.environ
    needs = Needs(
        services.settings.workspace.link, is_tracked=partial(_is_tracked, repository), in_sandbox=True
    )
    links = find_links(checkout, environ)
    planned = (*plan_mounts(checkout, links, environ, needs), *mount_hops(checkout, links))
    # Before the mount points exist, which replace links of [workspace] in the worktree.
    kept = pin_configuration(pinned, checkout.user) if pinned is not None else ()
    git = _create_git(worktree, git_place)
    pointers = tuple(_convert(git.pointers))
    with prepare_mount_points(checkout, planned):
        own = Mount(checkout.tree, worktree.path, writable=True)
        below = (*_repeat_below(planned, checkout.user, worktree.path), *_convert(git.mounts), *pointers)
        yield (*planned, own, *below, *_repeat_below(pointers, worktree.path, checkout.user), *kept)


def _create_git(worktree: Worktree, place: Path) -> PrivateGit:
    """Create the git directory of the sandbox, after the commits of an interrupted attempt were imported."""
    from ostler.git.private.importing import import_commits  # noqa: PLC0415  (imported on use)

    import_commits(place, worktree)
    made = create_private_git(worktree.repository, place)
    # While the agent works: the import after the call would have to wait for it.
    empty_trash_later(place, join_seconds=0)
    return made


def _convert(mounts: tuple[GitMount, ...]) -> Generator[Mount]:
    for one in mounts:
        yield Mount(one.source, one.destination, one.writable)


def _repeat_below(planned: tuple[Mount, ...], user: Path, path: Path) -> Generator[Mount]:
    """Yield what is mounted into the user's checkout, such as links of [workspace], for the worktree."""
    for one in planned:
        if one.destination != user and one.destination.is_relative_to(user):
            yield Mount(one.source, path / one.destination.relative_to(user), one.writable)


def _locate(worktree: Worktree, repository: Repository) -> Checkout:
    from ostler.sandbox.checkout import Checkout  # noqa: PLC0415  (imported on use)

    user, tree = Path(os.path.realpath(repository.work_tree)), Path(os.path.realpath(worktree.path))
    others = tuple(one for one in list_work_trees(repository) if one not in (user, tree))
    return Checkout(tree, user, repository.prefix, others)


def _is_tracked(repository: Repository, path: str) -> bool:
    return bool(query_git(repository, "ls-files", "--", path))


@contextmanager
def _open_checkout(
    directory: Path, repository: Repository, pinned: PinnedTree | None
) -> Generator[tuple[Mount, ...]]:
    """Mount the checkout of a commit, and the objects that it borrows.

    A reviewer does not execute configuration of the work that it reviews.
    """
    tree = directory
    for _ in Path(repository.prefix).parts:
        tree = tree.parent
    objects = repository.common_dir / "objects"
    kept = pin_configuration(replace(pinned, worktree=tree)) if pinned is not None else ()
    yield (Mount(tree, tree, writable=True), Mount(objects, objects), *kept)


@contextmanager
def _open_project(
    directory: Path,
    root: Path,
    place: Path,
    desk: Path | None,
    repository: Repository | None,
    exempt: tuple[str, ...] = (),
) -> Generator[tuple[Mount, ...]]:
    """Mount the project without Ostler's files; it is writable if the task works in it.

    The desk has the state file, in which the agent reports.
    """
    view = root / VIEW
    # Mount points cannot be made in a directory that is mounted read-only.
    for one in (
        place / "empty",
        place / "view",
        *((place / "view" / desk.relative_to(view), desk) if desk else ()),
    ):
        make_private_dir(one)
    mounts = [Mount(root, root, writable=directory == root), *_hide_git(root, place, repository)]
    if view.is_dir():
        mounts.append(Mount(place / "view", view))
    if desk is not None:
        mounts.append(Mount(desk, desk, writable=True))
    if directory != root and (desk is None or not directory.is_relative_to(desk)):
        mounts.append(Mount(directory, directory, writable=True))
    if directory != root:
        copies = [directory / name for name in (SKILL, INPUTS)]
        mounts += [Mount(one, one) for one in copies if one.is_dir() and not one.is_symlink()]
    pinned = pin_in_place(root, exempt) if directory == root else hide_configuration(directory, place)
    yield (*mounts, *pinned)


def _hide_git(root: Path, place: Path, repository: Repository | None) -> Generator[Mount]:
    """Yield mounts over the project's git directory: its journal and addresses with passwords are hidden.

    Nothing imports commits of such a program, so it must not be able to make one.
    """
    git = root / ".git"
    if repository is not None and repository.work_tree == root and git.exists():
        made = create_private_git(repository, place / GIT)
        yield from _convert(made.mounts)
        yield from (Mount(one.source, one.destination) for one in made.pointers)
    elif git.is_dir():
        yield Mount(git, git)
        if (git / STATE).is_dir():
            yield Mount(place / "empty", git / STATE)
        if (git / "config").is_file():
            yield Mount(Path(os.devnull), git / "config")
