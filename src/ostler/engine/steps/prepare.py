"""PrepareWorkspace: creates the worktree and sets it up once."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ostler.calls.attempts.kept_answer import delete_kept_answer
from ostler.calls.sandbox.pinned_configuration import remember_setup
from ostler.calls.sandbox.warm_up import OUTSIDE, start_warm_up
from ostler.calls.thread import run_in_thread
from ostler.config.settings import WorkspaceSettings
from ostler.engine.core.requests import is_publication_only
from ostler.engine.steps.agent_call.caller import find_task_answer
from ostler.engine.steps.move_obstacles import require_movable
from ostler.engine.steps.progress import report_progress
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.engine.steps.workspaces.box_files import create_workspace
from ostler.engine.steps.workspaces.configuration import find_pinned_tree
from ostler.engine.steps.workspaces.follow import follow_predecessors
from ostler.engine.steps.workspaces.moving import fetch_work, push_rewritten_work
from ostler.engine.steps.workspaces.work_in_progress import (
    continue_from,
    merge_target,
    rewind_workspace,
    with_workspace,
)
from ostler.engine.steps.workspaces.worktree import find_worktree, prepare_worktree
from ostler.files.atomic import sync_filesystem, write_projection
from ostler.git.commit.index import count_files
from ostler.git.repository import Worktree
from ostler.model.event import TaskStarted
from ostler.model.state import State

_MARKER = "ostler-prepared"  # in the git directory of the worktree, and deleted with it
_STATE_DIR = "workspace"
_LOG = "workspace.log"


async def prepare_workspace(context: TaskContext, services: StepServices) -> StepResult:
    """Create or repair the workspace, and set it up once as in [workspace]."""
    is_in_place = services.repository is None and not context.state.plan.is_document
    place = OUTSIDE if is_in_place else services.layout.root
    start_warm_up(services.settings.sandbox, services.environ, place)
    files = count_files(services.repository) if services.repository and context.state.base is None else 0
    with report_progress(
        "creating the worktree" if files else "creating the workspace", context, services, files=files
    ):
        started = await run_in_thread(_make_or_repair, context.state, services)
    state = replace(context.state, worktree=started.worktree, branch=started.branch, base=started.base)
    worktree = find_worktree(state, services)
    # A merge needs no setup; a task that is sent back to its agent is prepared again.
    if worktree is not None and not is_publication_only(state):
        await _set_up_once(worktree, replace(context, state=state), services)
    # A new worktree is flushed already; one that was used can have another commit and other files now.
    if worktree is None or context.state.base is None:
        return StepResult(started)
    return StepResult(started, flush=(worktree.path, worktree.repository.common_dir))


def _make_or_repair(state: State, services: StepServices) -> TaskStarted:
    # The publication that a person asks for later is checked by its own step.
    if services.mover is not None and not is_publication_only(state):
        is_document = state.plan.is_document
        require_movable(services.settings, services.layout.root, services.repository, is_document=is_document)
    fetched = fetch_work(state, services)
    started = prepare_worktree(state, services)
    if fetched:
        # An answer that this host kept is about the work that is replaced now.
        delete_kept_answer(find_task_answer(state.task, services))
        continue_from(fetched, state, started, services)
    started = _move_base(state, started, services)
    push_rewritten_work(with_workspace(state, started), state, services)
    return started


def _move_base(state: State, started: TaskStarted, services: StepServices) -> TaskStarted:
    """Rewind the branch, merge the target, or follow other tasks, as the state asks for."""
    if state.reset_to is not None:
        rewind_workspace(state, started, services)
    if state.conflict_commit is not None:
        return merge_target(state, started, state.conflict_commit, services)
    return follow_predecessors(state, started, services)


async def _set_up_once(worktree: Worktree, context: TaskContext, services: StepServices) -> None:
    settings = services.settings.workspace
    if not (settings.setup or settings.copy or settings.link):
        return
    marker, fingerprint = worktree.repository.git_dir / _MARKER, _fingerprint(settings)
    if _read(marker) == fingerprint:
        return
    from ostler.engine.steps.workspaces.left import find_in_worktree  # noqa: PLC0415  (imported on use)
    from ostler.engine.steps.workspaces.setup import WorkspaceSetup, setup_workspace  # noqa: PLC0415  (imported on use)
    from ostler.git.left.baseline import extend_baseline  # noqa: PLC0415  (imported on use)
    from ostler.git.left.untracked import Found  # noqa: PLC0415  (imported on use)

    task_dir = services.layout.task(context.state.task)
    untouched = not services.journal.attempts(context.state.task)
    setup = WorkspaceSetup(
        worktree.repository,
        worktree.cwd,
        task_dir / _LOG,
        task_dir / _STATE_DIR,
        untouched,
        # The command can write configuration that is pinned for agents.
        workspace=create_workspace(worktree.cwd, context, services, pins=False),
    )
    before = Found() if untouched else await run_in_thread(find_in_worktree, worktree, settings)
    await setup_workspace(setup, context, services)
    after = await run_in_thread(find_in_worktree, worktree, settings)
    extend_baseline(worktree, before, after)
    tree = find_pinned_tree(context.state, services)
    if untouched and tree is not None:
        await run_in_thread(remember_setup, tree)
    # After a power cut, a workspace that is marked as prepared must have all of its files.
    await run_in_thread(sync_filesystem, services.layout.worktrees)
    write_projection(marker, fingerprint)


def _fingerprint(settings: WorkspaceSettings) -> bytes:
    """Return a hash of what the setup depends on."""
    names = ("setup", "copy", "link", "timeout_seconds")
    return (
        hashlib.sha256(msgspec.json.encode({name: getattr(settings, name) for name in names}))
        .hexdigest()
        .encode()
    )


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""
