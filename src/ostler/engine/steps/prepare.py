"""PrepareWorkspace: creates the worktree and sets it up once."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ostler.calls.sandbox.pinned_configuration import remember_setup
from ostler.calls.sandbox.warm_up import start_warm_up
from ostler.config.settings import WorkspaceSettings
from ostler.engine.steps.progress import report_progress
from ostler.engine.steps.services import StepServices, TaskContext, run_in_thread
from ostler.engine.steps.workspaces.box_files import create_workspace
from ostler.engine.steps.workspaces.configuration import find_pinned_tree
from ostler.engine.steps.workspaces.follow import follow_predecessors
from ostler.engine.steps.workspaces.left import find_in_worktree
from ostler.engine.steps.workspaces.setup import WorkspaceSetup, setup_workspace
from ostler.engine.steps.workspaces.work_in_progress import merge_target, rewind_workspace
from ostler.engine.steps.workspaces.worktree import find_worktree, prepare_worktree
from ostler.files.atomic import sync_filesystem, write_projection
from ostler.git.commit.index import count_files
from ostler.git.left.baseline import extend_baseline
from ostler.git.left.untracked import Found
from ostler.git.repository import Worktree
from ostler.model.event import TaskStarted
from ostler.model.state import State

_MARKER = "ostler-prepared"  # in the git directory of the worktree, and deleted with it
_STATE_DIR = "workspace"
_LOG = "workspace.log"


async def prepare_workspace(context: TaskContext, services: StepServices) -> TaskStarted:
    """Create or repair the workspace, and set it up once as in [workspace]."""
    start_warm_up(services.settings.sandbox, services.environ, services.layout.root)
    files = count_files(services.repository) if services.repository and context.state.base is None else 0
    with report_progress(
        "creating the worktree" if files else "creating the workspace", context, services, files=files
    ):
        started = await run_in_thread(_make_or_repair, context.state, services)
    state = replace(context.state, worktree=started.worktree, branch=started.branch, base=started.base)
    worktree = find_worktree(state, services)
    # A merge needs no setup; a task that is sent back to its agent is prepared again.
    if worktree is not None and state.publish_as is None:
        await _set_up_once(worktree, replace(context, state=state), services)
    return started


def _make_or_repair(state: State, services: StepServices) -> TaskStarted:
    started = prepare_worktree(state, services)
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
