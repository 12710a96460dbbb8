"""Sets up worktrees and checkouts as in [workspace]: copy, link, and a setup command."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

from msgspec import Struct

from ostler.calls.sandbox.workspace import Workspace
from ostler.calls.thread import run_in_thread
from ostler.config.settings import WorkspaceSettings
from ostler.engine.steps.gates.isolated import run_isolated_setup
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.sandboxed_shell import describe_refusals, run_in_sandbox
from ostler.engine.steps.workspaces.shell import ShellCommand, describe_failure
from ostler.errors import Code, OstlerError
from ostler.files.atomic import make_private_dir, write_projection
from ostler.files.placement import place_all, plan_copies, plan_links
from ostler.git.commit.exclude import list_untracked, write_exclude
from ostler.git.repository import Repository
from ostler.git.run.command import encode_names
from ostler.git.worktree.trash import erase
from ostler.git.worktree.work_trees import list_alternates
from ostler.model.command import Exit
from ostler.sandbox.mounts import Mount

_RESERVED = (".git", ".ostler")


class WorkspaceSetup(Struct, frozen=True):
    """A checkout to set up."""

    repository: Repository
    directory: Path  # the project's directory in it
    log: Path  # output of the setup command
    state_dir: Path | None = None  # where the added paths are stored; None: not stored
    untouched: bool = True  # no agent has worked in it yet
    isolated: bool = False  # the command runs like a gate: isolated from the user's checkout
    workspace: Workspace | None = None  # files of its sandbox; None: those of the directory


async def setup_workspace(setup: WorkspaceSetup, context: TaskContext, services: StepServices) -> None:
    """Copy, link and run the setup; the added files are excluded from commits."""
    settings = services.settings.workspace
    placed = await run_in_thread(_place_files, setup, settings, services.layout.root)
    if not settings.setup:
        return
    before = () if setup.untouched else await run_in_thread(list_untracked, setup.repository)
    shell = ShellCommand(settings.setup, setup.directory, setup.log, settings.timeout_seconds)
    ended, refused = await _run_setup(setup, shell, context, services)
    if ended.status != 0 or ended.stopped:
        parts = (f"workspace.setup failed: {describe_failure(shell, ended)}", refused)
        message = "; ".join((*filter(None, parts), f"its output is in {shell.log}"))
        raise OstlerError(Code.WORKSPACE_WRITE_FAILED, message, "fix [workspace] setup, then: ostler retry")
    await run_in_thread(_exclude_created_files, setup, before, placed)


async def _run_setup(
    setup: WorkspaceSetup, shell: ShellCommand, context: TaskContext, services: StepServices
) -> tuple[Exit, str]:
    """Return how the command ended, and what the sandbox refused."""
    if setup.isolated:
        run = await run_isolated_setup(shell, context, services)
    else:
        workspace = setup.workspace or _create_checkout_workspace(setup, services)
        run = await run_in_sandbox(shell, workspace, context, services)
    return run.exit, describe_refusals(run.refusals)


def _create_checkout_workspace(setup: WorkspaceSetup, services: StepServices) -> Workspace:
    """Return the files of a checkout outside the project: its own, and the objects that it borrows."""
    tree = setup.repository.work_tree
    mounts = [Mount(tree, tree, writable=True)]
    if services.repository is not None:
        objects = (services.repository.common_dir / "objects", *list_alternates(services.repository))
        mounts += [Mount(one, one) for one in objects]
    place = tree.parent / "sandbox"
    return Workspace(setup.directory, place, services.layout.root, lambda: nullcontext(tuple(mounts)))


def _place_files(setup: WorkspaceSetup, settings: WorkspaceSettings, root: Path) -> list[str]:
    _check_settings(settings)
    placements = plan_copies(root, setup.directory, settings.copy)
    placements += plan_links(root, setup.directory, settings.link)
    prefix = f"{setup.repository.prefix}/" if setup.repository.prefix else ""
    placed = [prefix + one.path for one in placements]
    # First, so that a killed run leaves no file that could be committed.
    _exclude_paths(setup, placed, [])
    staging = setup.repository.work_tree.parent / f".filling-{setup.repository.work_tree.name}"
    erase(staging, staging.parent)
    if placements:
        make_private_dir(staging)
        place_all(placements, setup.directory, staging)
        erase(staging, staging.parent)
    return placed


def _check_settings(settings: WorkspaceSettings) -> None:
    for name in (*settings.copy, *settings.link):
        if name.removeprefix("./").split("/")[0] in _RESERVED:
            message = f"[workspace] must not copy or link {name}: a workspace has its own"
            raise OstlerError(Code.CONFIG_INVALID, message, "remove it from [workspace] in ostler.toml")


def _exclude_created_files(setup: WorkspaceSetup, before: tuple[str, ...], placed: list[str]) -> None:
    made = set(list_untracked(setup.repository)) - set(before)
    if made:
        _exclude_paths(setup, placed, sorted(made))


def _exclude_paths(setup: WorkspaceSetup, placed: list[str], made: list[str]) -> None:
    """Exclude these paths, and those of earlier setups, from commits."""
    all_placed, all_made = (
        _remember_paths(setup.state_dir, "placed", placed),
        _remember_paths(setup.state_dir, "made", made),
    )
    write_exclude(setup.repository, all_placed, all_made)


def _remember_paths(state_dir: Path | None, kind: str, paths: list[str]) -> tuple[str, ...]:
    """Store the paths, and return them with the stored ones."""
    if state_dir is None:
        return tuple(paths)
    make_private_dir(state_dir)
    stored = (
        os.fsdecode((state_dir / kind).read_bytes()).split("\0")[:-1] if (state_dir / kind).is_file() else []
    )
    merged = tuple(dict.fromkeys((*stored, *paths)))
    write_projection(state_dir / kind, encode_names(merged))
    return merged
