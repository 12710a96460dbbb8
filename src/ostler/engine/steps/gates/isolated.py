"""Runs the command of a gate in isolation from the user's checkout."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.sandbox.workspace import Workspace
from ostler.calls.thread import run_in_thread
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.environment import GateEnvironment, open_environment
from ostler.engine.steps.workspaces.sandboxed_shell import (
    find_sandbox,
    has_own_files,
    list_records,
    run_in_sandbox,
)
from ostler.engine.steps.workspaces.shell import (
    ShellCommand,
    build_shell_environment,
    last_line,
    read_end,
    run_shell,
)
from ostler.git.commit.variant import list_tree
from ostler.git.repository import Repository
from ostler.git.run.command import query_git
from ostler.git.worktree.work_trees import borrow_objects_from, list_alternates, list_work_trees
from ostler.model.command import Exit
from ostler.model.policy.sandbox import Refusal, SandboxRecord
from ostler.sandbox.bubblewrap import wrap_with_bubblewrap
from ostler.sandbox.checkout import Checkout
from ostler.sandbox.choice import Choice, choose_isolation
from ostler.sandbox.environments.recipe import NoEnvironment
from ostler.sandbox.guard import install_guard, read_guard
from ostler.sandbox.import_paths import extend_python_path, find_import_paths
from ostler.sandbox.launch import Launch, find_start_folder, record_start, was_started
from ostler.sandbox.links.build import shares_cargo_target
from ostler.sandbox.links.command import find_command_links
from ostler.sandbox.links.committed import find_committed_links
from ostler.sandbox.links.find import find_links
from ostler.sandbox.links.hops import mount_hops
from ostler.sandbox.links.link import Link
from ostler.sandbox.links.python import list_prefixes
from ostler.sandbox.mounts import Mount, Needs, View, plan_mounts, prepare_mount_points, relocate_tools
from ostler.sandbox.unshare import wrap_with_unshare

_NOT_RUN = Exit(status=126, duration_seconds=0.0)
_MAX_LINKS = 10  # in the record
_DONE = {
    "bind-over": "the checkout is mounted over it",
    "unshare": "the checkout is mounted over it",
    "guard": "removed in each Python program",
    "environment": "the environment of the lockfile is used instead",
    "none": "not removed",
}
_IN_VIEW = ("bind-over", "unshare")  # the checkout is mounted over the user's work tree
_TARGET_DIRECTORY = "CARGO_TARGET_DIR"


class IsolatedRun(Struct, frozen=True):
    """How a command ended, and what it was isolated with."""

    exit: Exit
    isolation: str = "none"
    links: tuple[str, ...] = ()  # links to the user's checkout, and what was done about each
    blocked: str = ""  # why no verdict is possible; empty: the exit status counts
    no_environment: str = ""  # why the environment of a lockfile, which would be stronger, was not used
    sandbox: SandboxRecord | None = None  # None: the command did not run
    refusals: tuple[Refusal, ...] = ()  # what the sandbox refused while it ran


class _Situation(Struct, frozen=True):
    """The checkout, its environment, and the links between that and the user's checkout."""

    repository: Repository
    checkout: Checkout
    environ: dict[str, str]
    links: tuple[Link, ...]
    choice: Choice
    view: View  # what the command sees, if it is isolated by mounts
    sandbox: SandboxRecord  # that of agents; the command runs in it if it has files of its own

    @property
    def sandboxed(self) -> bool:
        return has_own_files(self.sandbox)


async def run_isolated(
    shell: ShellCommand, context: TaskContext, services: StepServices, network: bool = True
) -> IsolatedRun:
    """Run the command in its checkout so that it cannot use the user's checkout instead.

    If that is impossible, the command does not run or its exit status does not count: see `blocked`.
    """
    if services.repository is None:
        return IsolatedRun(await run_shell(shell, context, services))
    situation = await run_in_thread(_examine, shell, services.repository, context, services, network)
    reason = ""
    if situation.choice.needs_environment:
        try:
            return await _run_with_environment(situation, shell, context, services)
        except NoEnvironment as error:
            reason = str(error)
    links = _describe_links(situation)
    if situation.choice.blocked:
        return IsolatedRun(_NOT_RUN, "none", links, situation.choice.blocked, reason)
    ended = await _run(situation, shell, context, services)
    return replace(ended, isolation=situation.choice.isolation, links=links, no_environment=reason)


async def _run_with_environment(
    situation: _Situation, shell: ShellCommand, context: TaskContext, services: StepServices
) -> IsolatedRun:
    """Run the command in an environment without the links; raises NoEnvironment before it starts."""
    checkout = situation.checkout
    gate = GateEnvironment(checkout, situation.environ, situation.links, shell)
    links = _describe_links(situation, "environment")
    async with open_environment(gate, context, services) as found:
        launch = Launch(env=_private_variables(situation, checkout.tree) | found.env)
        ended = await run_shell(shell, context, services, launch)
    blocked = await run_in_thread(read_guard, checkout, found.needs_guard) if found.guarded else ""
    blocked = blocked and f"{blocked} ({situation.links[0].describe()})"
    return IsolatedRun(ended, found.isolation, links, blocked, sandbox=situation.sandbox)


async def run_isolated_setup(
    shell: ShellCommand, context: TaskContext, services: StepServices
) -> IsolatedRun:
    """Run the setup of a gate's checkout with the paths that the gate will have."""
    assert services.repository is not None
    situation = await run_in_thread(_examine, shell, services.repository, context, services, True, True)
    if not situation.sandboxed and (situation.choice.isolation not in _IN_VIEW or situation.choice.blocked):
        return IsolatedRun(await run_shell(shell, context, services))
    ended = await _run(situation, shell, context, services)
    if not ended.blocked:
        return ended
    failed = Exit(status=126, duration_seconds=ended.exit.duration_seconds, reason=ended.blocked)
    return replace(ended, exit=failed)


def _examine(
    shell: ShellCommand,
    repository: Repository,
    context: TaskContext,
    services: StepServices,
    network: bool,
    for_setup: bool = False,
) -> _Situation:
    checkout = _locate_checkout(shell.cwd, repository)
    environ = build_shell_environment(context, services)
    links, sandbox = find_links(checkout, environ), find_sandbox(services, environ)
    requested = services.settings.gates.isolation
    in_box = has_own_files(sandbox) and requested != "none"
    choice = Choice("bind-over") if in_box else choose_isolation(requested, links, environ, network)
    if choice.isolation not in _IN_VIEW and not for_setup:
        # Mounts redirect these links; nothing else does.
        links += tuple(find_committed_links(checkout, _list_committed_links(checkout)))
        links += tuple(find_command_links(shell.command, checkout, environ))
        choice = choose_isolation(requested, links, environ, network)
    needs = Needs(
        services.settings.workspace.link,
        repository.common_dir / "objects",
        partial(_is_tracked, repository),
        for_setup,
        has_own_files(sandbox),
    )
    in_view = choice.isolation in _IN_VIEW and not choice.blocked
    mounts = plan_mounts(checkout, links, environ, needs) if in_view else ()
    view = View(mounts, (checkout.user if in_view else checkout.tree) / checkout.prefix, network)
    return _Situation(repository, checkout, environ, links, choice, view, sandbox)


def _list_committed_links(checkout: Checkout) -> list[str]:
    git_dir = checkout.tree / ".git"
    files = list_tree(Repository(checkout.tree, git_dir, git_dir, checkout.prefix), "HEAD")
    return [name for name, file in files.items() if file.is_link]


def _is_tracked(repository: Repository, path: str) -> bool:
    return bool(query_git(repository, "ls-files", "--", path))


def _locate_checkout(cwd: Path, repository: Repository) -> Checkout:
    tree = cwd
    for _ in Path(repository.prefix).parts:
        tree = tree.parent
    user = Path(os.path.realpath(repository.work_tree))
    others = tuple(one for one in list_work_trees(repository) if one != user)
    return Checkout(Path(os.path.realpath(tree)), user, repository.prefix, others)


async def _run(
    situation: _Situation, shell: ShellCommand, context: TaskContext, services: StepServices
) -> IsolatedRun:
    """Return how the command ended, and why its exit status does not count."""
    if situation.sandboxed:
        return await _run_in_sandbox(situation, shell, context, services)
    ended, blocked = await _run_outside(situation, shell, context, services)
    return IsolatedRun(ended, blocked=blocked, sandbox=situation.sandbox)


async def _run_in_sandbox(
    situation: _Situation, shell: ShellCommand, context: TaskContext, services: StepServices
) -> IsolatedRun:
    """Run the command in a sandbox like that of an agent, with a home directory of its own."""
    # Before the mount points exist, which replace links in the checkout.
    checkout, mounts = situation.checkout, _list_box_mounts(situation)
    with _open_view(situation) as launch:
        workspace = Workspace(
            situation.view.directory,
            checkout.private / "sandbox",
            services.layout.root,
            lambda: nullcontext(mounts),
            records=list_records(services),
        )
        run = await run_in_sandbox(shell, workspace, context, services, launch, situation.view.network)
    blocked = ""
    if not was_started(checkout.private) and run.exit.stopped is None:
        blocked = _describe_no_start(f"the sandbox ({run.sandbox.tier})", shell, run.exit)
    return IsolatedRun(run.exit, blocked=blocked, sandbox=run.sandbox, refusals=run.refusals)


def _list_box_mounts(situation: _Situation) -> tuple[Mount, ...]:
    """Return the mounts of the view, after the directory of the checkout and the objects that it borrows.

    The directory around the tree is read-only: Ostler and the next command follow its paths.
    """
    private, common = situation.checkout.private, situation.repository.common_dir
    tree, started = situation.checkout.tree, find_start_folder(situation.checkout.private)
    borrowed = [common / "objects", *list_alternates(situation.repository)]
    # The view has those of the user's work tree, which the checkout is mounted over, at another path.
    hidden = situation.checkout.user if situation.view.mounts else private
    return (
        Mount(private, private),
        *(Mount(one, one, writable=True) for one in (tree, started)),
        *(Mount(one, one) for one in borrowed if not one.is_relative_to(hidden)),
        *situation.view.mounts,
        *mount_hops(situation.checkout, situation.links),
    )


async def _run_outside(
    situation: _Situation, shell: ShellCommand, context: TaskContext, services: StepServices
) -> tuple[Exit, str]:
    match situation.choice.isolation:
        case "bind-over" | "unshare":
            return await _run_in_view(situation, shell, context, services)
        case "guard":
            launch = Launch(
                env={**_private_variables(situation, situation.checkout.tree), **_guard(situation)}
            )
            ended = await run_shell(shell, context, services, launch)
            reason = await run_in_thread(read_guard, situation.checkout)
            return ended, reason and f"{reason} ({situation.links[0].describe()})"
        case "none":
            launch = Launch(env=_private_variables(situation, situation.checkout.tree))
            return await run_shell(shell, context, services, launch), ""


async def _run_in_view(
    situation: _Situation, shell: ShellCommand, context: TaskContext, services: StepServices
) -> tuple[Exit, str]:
    private = situation.checkout.private
    with _open_view(situation) as launch:
        ended = await run_shell(shell, context, services, launch)
    if was_started(private) or ended.stopped is not None:
        return ended, ""
    return ended, _describe_no_start(situation.choice.program, shell, ended)


def _describe_no_start(what: str, shell: ShellCommand, ended: Exit) -> str:
    last = last_line(read_end(shell.log, 8192)) or f"it exited with {ended.status}"
    return f"{what} could not start the command: {last}"


@contextlib.contextmanager
def _open_view(situation: _Situation) -> Generator[Launch]:
    """Prepare the checkout to be mounted over the user's work tree, and yield how to start a command."""
    checkout, environ = situation.checkout, situation.environ
    mounts = situation.view.mounts
    if not mounts:
        yield Launch((), _private_variables(situation, checkout.tree), record_start(checkout.private))
        return
    env = _private_variables(situation, checkout.user) | relocate_tools(checkout, mounts, environ)
    paths = find_import_paths(checkout, situation.links)
    env |= extend_python_path((checkout.user / one for one in paths), environ)
    with (
        prepare_mount_points(checkout, mounts),
        borrow_objects_from(checkout.tree, situation.repository, checkout.private / "objects"),
    ):
        yield Launch(_wrap(situation), env, record_start(checkout.private))


def _wrap(situation: _Situation) -> tuple[str, ...]:
    program, view = situation.choice.program, situation.view
    if situation.sandboxed:
        return ()
    if situation.choice.isolation == "bind-over":
        return wrap_with_bubblewrap(program, view)
    return wrap_with_unshare(program, view, situation.checkout.private)


def _private_variables(situation: _Situation, tree: Path) -> dict[str, str]:
    """Return variables that replace a build directory which other checkouts use too."""
    if not shares_cargo_target(situation.environ):
        return {}
    return {_TARGET_DIRECTORY: str(tree / situation.checkout.prefix / "target")}


def _guard(situation: _Situation) -> dict[str, str]:
    checkout = situation.checkout
    directory = install_guard(checkout, list_prefixes(checkout, situation.environ))
    paths = find_import_paths(checkout, situation.links)
    return extend_python_path((directory, *(checkout.tree / one for one in paths)), situation.environ)


def _describe_links(situation: _Situation, isolation: str = "") -> tuple[str, ...]:
    used = "none" if situation.choice.blocked else situation.choice.isolation
    done = _DONE[isolation or used]
    texts = [f"{one.describe()}: {done}" for one in situation.links[:_MAX_LINKS]]
    if len(situation.links) > _MAX_LINKS:
        texts.append(f"and {len(situation.links) - _MAX_LINKS} more")
    if shares_cargo_target(situation.environ):
        texts.append(f"a shared {_TARGET_DIRECTORY}: replaced by a private one")
    return tuple(texts)
