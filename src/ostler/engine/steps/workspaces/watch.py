"""Compares the repository and the executed configuration of a worktree before and after a call."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.configuration import describe_changes, find_pinned_tree, read_manifest
from ostler.errors import OstlerError, WarningCode
from ostler.files.atomic import make_private_dir, write_atomic, write_projection
from ostler.git.repository import Repository
from ostler.git.watch.record import Changes, RepositoryRecord, compare_record, exclude_path, read_record
from ostler.model.ids import TaskId
from ostler.model.warning import WarningDetail

_FOLDER, _RECORD = "workspace", "repository.json"
_SINCE_INTERRUPTION = "since the interrupted call"
_SHARED_FILE = 0o644  # as git creates it


class Watch(Struct, frozen=True):
    """The repository before a call."""

    repository: Repository
    before: RepositoryRecord
    configuration: dict[str, str]  # of the worktree: files that programs execute
    found: tuple[WarningDetail, ...] = ()  # what changed since a call that a kill ended


def start_watch(context: TaskContext, services: StepServices) -> Watch | None:
    """Record the repository; None if tasks have no worktree, or it cannot be read.

    The record of a call that a kill ended is compared first: what changed since then can be the user's own
    work, so it is named and not restored.
    """
    if services.repository is None:
        return None
    path = _record_path(context, services)
    try:
        before, earlier = read_record(services.repository), _read_stored(path)
        manifest = _read_configuration(context, services)
        if earlier is not None:
            found = _compare_earlier(earlier, before, context, services)
            return Watch(services.repository, before, manifest, found)
        make_private_dir(path.parent, durable=False)
        write_projection(path, msgspec.json.encode(before))
    except (OstlerError, OSError):  # the steps that need the repository report it
        return None
    return Watch(services.repository, before, manifest)


def end_watch(watch: Watch | None, context: TaskContext, services: StepServices) -> tuple[WarningDetail, ...]:
    """Return what changed since then; info/exclude is restored. A failure to compare is a warning too."""
    if watch is None:
        return ()
    try:
        found = _compare(watch, context, services)
    except (OstlerError, OSError) as error:
        text = f"the repository could not be compared with its state before the call: {error}"
        return (*watch.found, WarningDetail(WarningCode.REPOSITORY_CHANGED, text))
    _record_path(context, services).unlink(missing_ok=True)
    return (*watch.found, *found)


def _compare(watch: Watch, context: TaskContext, services: StepServices) -> tuple[WarningDetail, ...]:
    after = read_record(watch.repository)
    changes = compare_record(watch.repository, watch.before, after, _own_branches(context, services))
    details = _build_details(changes, _restore_exclude(watch, after, context, services))
    return (*details, *describe_changes(watch.configuration, _read_configuration(context, services)))


def _read_configuration(context: TaskContext, services: StepServices) -> dict[str, str]:
    """Return what is compared of the executed configuration; nothing where agents get no sandbox."""
    if services.settings.sandbox.tier == "supervised":
        return {}
    return read_manifest(find_pinned_tree(context.state, services))


def _compare_earlier(
    earlier: RepositoryRecord, now: RepositoryRecord, context: TaskContext, services: StepServices
) -> tuple[WarningDetail, ...]:
    repository = services.repository
    if repository is None:
        return ()
    changes = compare_record(repository, earlier, now, _own_branches(context, services), _SINCE_INTERRUPTION)
    path = exclude_path(repository)
    exclude = f"{path} changed {_SINCE_INTERRUPTION}; correct it if the patterns are not yours"
    return _build_details(changes, (exclude,) if earlier.exclude != now.exclude else ())


def _build_details(changes: Changes, exclude: tuple[str, ...]) -> tuple[WarningDetail, ...]:
    return (
        *(WarningDetail(WarningCode.BRANCH_MOVED, line) for line in changes.moves),
        *(WarningDetail(WarningCode.REPOSITORY_CHANGED, line) for line in (*changes.files, *exclude)),
    )


def _own_branches(context: TaskContext, services: StepServices) -> Callable[[str], bool]:
    """Return whether a branch is that of a task."""

    def is_own(branch: str) -> bool:
        task = TaskId(branch.removeprefix(services.settings.git.branch_prefix))
        return branch == context.state.branch or services.journal.row(task) is not None

    return is_own


def _restore_exclude(
    watch: Watch, after: RepositoryRecord, context: TaskContext, services: StepServices
) -> tuple[str, ...]:
    """Write the earlier patterns again: others would keep work of all tasks out of their commits."""
    from ostler.engine.steps.workspaces.left import show_path  # noqa: PLC0415  (imported on use)

    before, now = watch.before.exclude, after.exclude
    if before == now or _was_refused(before, context, services):
        return ()
    copy = _record_path(context, services).with_name(_copy_name(now))
    make_private_dir(copy.parent)
    write_atomic(copy, now or b"")
    path = exclude_path(watch.repository)
    if before is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(exist_ok=True)
        write_atomic(path, before, mode=_SHARED_FILE)
    shown = show_path(copy, services.layout)
    return (f"{path} changed while the task ran and was restored; the changed text is in {shown}",)


def _was_refused(content: bytes | None, context: TaskContext, services: StepServices) -> bool:
    """Return whether another task replaced this content since the call started: it was of that agent."""
    started = _record_path(context, services)
    copies = started.parents[2].glob(f"*/{_FOLDER}/{_copy_name(content)}")
    return any(copy.stat().st_mtime_ns >= started.stat().st_mtime_ns for copy in copies)


def _copy_name(content: bytes | None) -> str:
    return f"exclude-{hashlib.sha256(content or b'').hexdigest()[:16]}"


def _read_stored(path: Path) -> RepositoryRecord | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=RepositoryRecord)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def _record_path(context: TaskContext, services: StepServices) -> Path:
    return services.layout.task(context.state.task) / _FOLDER / _RECORD
