"""A clean checkout of a commit for a gate, outside the project; removed afterwards."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread

from ostler.calls.thread import run_in_thread
from ostler.engine.steps.progress import report_progress
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.shell import process_marker
from ostler.errors import Code, OstlerError, PathEscape
from ostler.files.atomic import make_private_dir, write_atomic
from ostler.files.disk import to_disk_error
from ostler.files.paths import open_beneath
from ostler.git.repository import Repository
from ostler.git.worktree.trash import TRASH, discard, empty_trash, empty_trash_later
from ostler.git.worktree.worktree_pool import WorktreePool, find_pool, forget_tree, park_tree, tidy_pool_later
from ostler.model.ids import TaskId
from ostler.process.sweep import kill_marked_processes

_RECORDS = "gates"
_RECORD = "checkout*.path"
_NAME = re.compile(r"ostler-gate-[0-9a-f]{16}")


@asynccontextmanager
async def check_out_commit(
    sha: str, log: Path, context: TaskContext, services: StepServices, isolated: bool = True
) -> AsyncGenerator[Path]:
    """Check out a commit and yield its project directory; the output of the setup goes to `log`.

    `isolated`: the setup runs like the command of a gate, so that both use the same paths.
    Raises OstlerError if it cannot be created. The checkout is removed in any case.
    """
    # On use: every task removes its checkouts, and many have none.
    from ostler.engine.steps.workspaces.setup import WorkspaceSetup, setup_workspace  # noqa: PLC0415
    from ostler.git.worktree.export import create_project_directory  # noqa: PLC0415

    assert services.repository is not None
    await run_in_thread(_remove_leftovers, context, services)
    checkout = _find_temporary_directory(services) / f"ostler-gate-{os.urandom(8).hex()}"
    try:
        with report_progress("checking out the commit for its gate", context, services):
            made = await run_in_thread(
                _make_checkout, sha, checkout, services.repository, context.state.task, services
            )
        directory = create_project_directory(made)
        await setup_workspace(WorkspaceSetup(made, directory, log, isolated=isolated), context, services)
        yield directory
    finally:
        await run_in_thread(_discard_checkout, checkout, context.state.task, services)


def remove_checkout(task: TaskId, services: StepServices, wait: bool = True) -> bool:
    """Remove the checkouts of this task's gates; return whether there were any.

    Files on another disk than the project's are deleted one by one, in the background unless `wait`.
    """
    records = _records(task, services)
    for record in records:
        checkout = _read_record(record)
        if checkout is None or not _is_ours(checkout) or _move_to_trash(checkout, services):
            record.unlink(missing_ok=True)
        else:
            _delete_in_place(checkout, record, wait)
    empty_trash_later(services.layout.worktrees)
    return bool(records)


def _records(task: TaskId, services: StepServices) -> list[Path]:
    return sorted((services.layout.task(task) / _RECORDS).glob(_RECORD))


def _remove_leftovers(context: TaskContext, services: StepServices) -> None:
    """Remove what a killed run left: first the processes, then the files."""
    if _records(context.state.task, services):
        kill_marked_processes(process_marker(context, services).__eq__)
        remove_checkout(context.state.task, services, wait=False)


def _make_checkout(
    sha: str, checkout: Path, repository: Repository, task: TaskId, services: StepServices
) -> Repository:
    record = (
        services.layout.task(task)
        / _RECORDS
        / _RECORD.replace("*", checkout.name.removeprefix("ostler-gate"))
    )
    from ostler.git.worktree.export import export_commit  # noqa: PLC0415  (imported on use)

    make_private_dir(record.parent)
    # The record comes first, so that every checkout can be found after a crash.
    write_atomic(record, os.fsencode(checkout))
    try:
        checkout.mkdir(mode=0o700)
    except OSError as error:
        raise to_disk_error(checkout, error) from error
    return export_commit(repository, sha, _tree_path(checkout, services), _worktree_pool(services))


def _discard_checkout(checkout: Path, task: TaskId, services: StepServices) -> None:
    """Return the files to the pool of worktrees, or move them to the trash: both are a rename."""
    parked = park_tree(_worktree_pool(services), _tree_path(checkout, services), checkout.name)
    remove_checkout(task, services, wait=False)
    if parked and services.repository is not None:
        tidy_pool_later(_worktree_pool(services), services.repository)


def _tree_path(checkout: Path, services: StepServices) -> Path:
    return checkout / (services.layout.root.name or "project")


def _worktree_pool(services: StepServices) -> WorktreePool:
    return find_pool(services.layout.worktrees, services.settings)


def _find_temporary_directory(services: StepServices) -> Path:
    """Return a directory for temporary files outside the project and its repository."""
    repository = services.repository
    root = (repository.work_tree if repository else services.layout.root).resolve()
    for name in (services.environ.get("TMPDIR", ""), tempfile.gettempdir(), "/var/tmp"):  # noqa: S108
        directory = Path(name).resolve()
        if name and directory.is_dir() and not directory.is_relative_to(root):
            return directory
    message = f"no directory for temporary files outside {root}"
    raise OstlerError(Code.WORKSPACE_WRITE_FAILED, message, "set TMPDIR to another directory")


def _read_record(record: Path) -> Path | None:
    """Return the recorded path of the checkout; None if the record is unreadable."""
    try:
        with os.fdopen(open_beneath(record.parent, record.name, os.O_RDONLY), "rb") as file:
            return Path(os.fsdecode(file.read(4096)))
    except (OSError, PathEscape):
        return None


def _is_ours(checkout: Path) -> bool:
    """Return whether this module created the directory; a record may have been changed."""
    try:
        status = checkout.lstat()
    except OSError:
        return False
    ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return ours and checkout.is_absolute() and _NAME.fullmatch(checkout.name) is not None


def _move_to_trash(checkout: Path, services: StepServices) -> bool:
    """Rename it into the trash of the worktrees; return False if that is on another disk."""
    try:
        discard(checkout, services.layout.worktrees)
    except OSError:
        return False
    forget_tree(_worktree_pool(services), checkout.name)
    return True


def _delete_in_place(checkout: Path, record: Path, wait: bool) -> None:
    """Delete the files, then the record, so that an incomplete deletion is repeated."""

    def delete() -> None:
        if _delete_tree(checkout):
            record.unlink(missing_ok=True)

    if wait:
        delete()
    else:
        Thread(target=delete, name=f"checkout {checkout}", daemon=True).start()


def _delete_tree(checkout: Path) -> bool:
    """Delete the directory, also files without write permission; return whether it succeeded."""
    try:
        checkout.chmod(0o700)
        trash = checkout / TRASH
        if trash.is_symlink() or trash.is_file():
            trash.unlink()
        for child in [one for one in checkout.iterdir() if one != trash]:
            discard(child, checkout)
        empty_trash(checkout)
        if trash.is_dir():
            trash.rmdir()
        checkout.rmdir()
    except OSError:
        return False
    return True
