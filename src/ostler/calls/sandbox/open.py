"""Opens a sandbox: chooses the tier, prepares files and network, and returns how to start a program in it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from msgspec import Struct

from ostler.calls.sandbox.environment import build_inner_environment
from ostler.calls.sandbox.launchers import limit, list_allowed_paths, open_launcher
from ostler.calls.sandbox.workspace import Workspace
from ostler.config.settings import SandboxSettings
from ostler.files.atomic import make_private_dir
from ostler.model.command import Launcher
from ostler.model.sandbox import Refusal, SandboxRecord
from ostler.model.usage import Usage
from ostler.sandbox.box.attach import Attach
from ostler.sandbox.box.box import Box, Limits
from ostler.sandbox.box.system import list_named_paths, list_toolchains
from ostler.sandbox.box.tiers import ChosenTier, choose_tier
from ostler.sandbox.mounts import Mount
from ostler.sandbox.network.policy import ModelRoute


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
    route: ModelRoute | None = None  # its model calls; None: it makes none through the proxy
    memory_mb: int | None = None
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
    settings, chosen = request.settings, await _choose(request)
    if not chosen.is_sandbox:
        record = SandboxRecord(chosen.tier, reason=chosen.reason)
        is_limited = chosen.tier == "limits"
        launcher = limit(None, _limits(request), settings, request.workspace) if is_limited else None
        yield OpenSandbox(record, launcher, env=dict(request.environ))
        return
    async with AsyncExitStack() as stack:
        own = stack.enter_context(request.workspace.open_mounts())
        attach = await _open_network(request, stack)
        box = _create_box(request, own)
        launcher, box = stack.enter_context(open_launcher(chosen, box, attach, settings, request.workspace))
        env = build_inner_environment(request.environ, chosen.tier, settings.network, box.proxy_port)
        yield OpenSandbox(
            SandboxRecord(chosen.tier, chosen.verified, network=settings.network),
            launcher,
            env | {"HOME": str(box.home_path)},
            box,
        )


async def _choose(request: SandboxRequest) -> ChosenTier:
    settings = request.settings
    if settings.tier == "supervised":
        return ChosenTier(settings.tier)
    # The first choice runs the self-test.
    return await asyncio.to_thread(
        choose_tier, settings.tier, request.environ, settings.network, settings.image
    )


async def _open_network(request: SandboxRequest, stack: AsyncExitStack) -> Attach | None:
    if request.settings.network != "proxy":
        return None
    # TODO: until part B lands
    return None


def _create_box(request: SandboxRequest, own: tuple[Mount, ...]) -> Box:
    workspace, settings = request.workspace, request.settings
    make_private_dir(workspace.home)
    return Box(
        directory=workspace.directory,
        home=workspace.home,
        home_path=_find_home(request.environ),
        readable=_list_readable(request),
        mounts=own,
        network=settings.network,
        limits=_limits(request),
    )


def _limits(request: SandboxRequest) -> Limits:
    settings = request.settings
    return Limits(settings.max_processes, settings.max_file_mb, request.memory_mb)


def _find_home(environ: Mapping[str, str]) -> Path:
    return Path(os.path.normpath(environ.get("HOME") or "/root"))


def _list_readable(request: SandboxRequest) -> tuple[Path, ...]:
    """Return the toolchains, the directories of PATH, and sandbox.allow_paths."""
    home = _find_home(request.environ)
    allowed = list_allowed_paths(request.settings, home)
    return (*list_toolchains(home), *list_named_paths(request.environ), *allowed)
