"""Opens a sandbox: chooses the tier, prepares files and network, and returns how to start a program in it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ostler.config.settings import SandboxSettings
from ostler.files.atomic import make_private_dir
from ostler.model.command import Launcher
from ostler.model.policy.sandbox import Refusal, SandboxRecord, is_separate
from ostler.model.usage import Usage
from ostler.sandbox.box.tiers import ChosenTier, choose_tier, has_been_tested
from ostler.sandbox.network.indexes.found import Indexes

if TYPE_CHECKING:
    from ostler.calls.sandbox.port import Port
    from ostler.calls.sandbox.workspace import Workspace
    from ostler.sandbox.box.box import Box, Limits
    from ostler.sandbox.mounts import Mount
    from ostler.sandbox.network.policy import ModelRoute, NetworkPolicy


def ignore_refusal(refusal: Refusal) -> None:
    """Record nothing."""


def allow_usage(model: str, usage: Usage) -> str:
    """Allow every further call."""
    return ""


class SandboxRequest(Struct, frozen=True):
    """What one program needs of its sandbox."""

    workspace: Workspace
    settings: SandboxSettings
    environ: Mapping[str, str]  # of the program, as it would be without a sandbox
    host_environ: Mapping[str, str] = {}  # of Ostler: names package indexes and a company's proxy
    route: ModelRoute | None = None  # its model calls; None: it makes none through the proxy
    memory_mb: int | None = None
    port: Port | None = None  # of the proxy; None: opened with the sandbox
    chosen: ChosenTier | None = None  # None: chosen by the settings
    on_refusal: Callable[[Refusal], None] = ignore_refusal
    check_usage: Callable[[str, Usage], str] = allow_usage


class OpenSandbox(Struct, frozen=True):
    """A sandbox that programs can be started in; without one the launcher is None."""

    record: SandboxRecord
    launcher: Launcher | None = None
    env: dict[str, str] = {}  # the variables inside
    box: Box | None = None


@asynccontextmanager
async def open_sandbox(request: SandboxRequest) -> AsyncGenerator[OpenSandbox]:
    """Open the sandbox of an attempt or command. Raises SANDBOX_UNAVAILABLE if a named tier does not work."""
    settings = request.settings
    chosen = request.chosen or await choose_sandbox(settings, request.environ)
    if not chosen.is_sandbox:
        record = SandboxRecord(chosen.tier, reason=chosen.reason)
        launcher = _limit(request) if chosen.tier == "limits" else None
        yield OpenSandbox(record, launcher, await _guard_environment(request))
        return
    from ostler.calls.sandbox.environment import build_inner_environment  # noqa: PLC0415  (imported on use)
    from ostler.calls.sandbox.launchers import open_launcher  # noqa: PLC0415  (imported on use)
    from ostler.calls.sandbox.network import build_policy, find_package_indexes, open_proxy  # noqa: PLC0415  (imported on use)
    from ostler.calls.sandbox.port import open_port  # noqa: PLC0415  (imported on use)

    async with AsyncExitStack() as stack:
        own = await _enter_in_thread(request.workspace.open_mounts(), stack)
        network = settings.network
        outside = request.host_environ or request.environ
        indexes = await find_package_indexes(settings, outside, request.workspace.project, own)
        policy = build_policy(settings, indexes, request.route)
        attach = None
        if network == "proxy":
            attach = await open_proxy(policy, outside, request.on_refusal, request.check_usage, stack)
        port = request.port or stack.enter_context(open_port(chosen))
        box = _create_box(request, own, indexes, policy)
        launcher, box = open_launcher(chosen, box, attach, port, settings, request.workspace)
        environ = {**request.environ, **indexes.environment}
        env = build_inner_environment(
            environ, chosen.tier, network, request.workspace.programs, box.proxy_port
        )
        yield OpenSandbox(
            SandboxRecord(chosen.tier, chosen.verified and is_separate(network), network=network),
            launcher,
            env | {"HOME": str(box.home_path)},
            box,
        )


async def _enter_in_thread(
    mounts: AbstractContextManager[tuple[Mount, ...]], stack: AsyncExitStack
) -> tuple[Mount, ...]:
    """Enter a context in a thread, because it runs git; a cancellation waits for it and leaves it."""
    entering = asyncio.create_task(asyncio.to_thread(mounts.__enter__))
    try:
        await asyncio.shield(entering)
    except asyncio.CancelledError:
        await asyncio.wait({entering})
        if entering.exception() is None:
            stack.push(mounts)
        raise
    stack.push(mounts)
    return entering.result()


async def _guard_environment(request: SandboxRequest) -> dict[str, str]:
    guard = request.workspace.guard
    more = await asyncio.to_thread(guard, request.environ) if guard else {}
    return {**request.environ, **more}


async def choose_sandbox(settings: SandboxSettings, environ: Mapping[str, str]) -> ChosenTier:
    """Return the tier of the settings that works here."""
    if settings.tier == "supervised":
        return ChosenTier(settings.tier)
    if has_been_tested(settings.tier):
        return choose_tier(settings.tier, environ, settings.network, settings.image)
    # The first choice runs the self-test.
    return await asyncio.to_thread(choose_tier, settings.tier, environ, settings.network, settings.image)


def _create_box(
    request: SandboxRequest, own: tuple[Mount, ...], indexes: Indexes, policy: NetworkPolicy
) -> Box:
    from ostler.calls.sandbox.network import write_index_settings  # noqa: PLC0415  (imported on use)
    from ostler.sandbox.box.box import Box  # noqa: PLC0415  (imported on use)

    workspace, settings = request.workspace, request.settings
    make_private_dir(workspace.home)
    write_index_settings(indexes, workspace.home)
    return Box(
        directory=workspace.directory,
        home=workspace.home,
        home_path=_find_home(request.environ),
        readable=(*_list_readable(request), *indexes.directories),
        mounts=own,
        network=settings.network,
        local_ports=policy.local_ports,
        limits=_limits(request),
    )


def _limit(request: SandboxRequest) -> Launcher:
    from ostler.calls.sandbox.launchers import limit  # noqa: PLC0415  (imported on use)

    return limit(None, _limits(request), request.settings, request.workspace)


def _limits(request: SandboxRequest) -> Limits:
    from ostler.sandbox.box.box import Limits  # noqa: PLC0415  (imported on use)

    settings = request.settings
    return Limits(settings.max_processes, settings.max_file_mb, request.memory_mb)


def _find_home(environ: Mapping[str, str]) -> Path:
    home = os.path.normpath(environ.get("HOME") or "/")
    # Some containers name the root directory, over which nothing can be mounted.
    return Path(home) if home.startswith("/") and home.strip("/") else Path("/root")


def _list_readable(request: SandboxRequest) -> tuple[Path, ...]:
    """Return the toolchains, the directories of PATH, and sandbox.allow_paths."""
    from ostler.calls.sandbox.launchers import list_allowed_paths  # noqa: PLC0415  (imported on use)
    from ostler.sandbox.box.system import list_named_paths, list_toolchains  # noqa: PLC0415  (imported on use)

    home = _find_home(request.environ)
    allowed = list_allowed_paths(request.settings, home)
    return (*list_toolchains(home), *list_named_paths(request.environ), *allowed)
