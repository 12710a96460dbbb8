"""Runs a shell command of the settings in the sandbox of [sandbox], and collects what that refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.sandbox.open import OpenSandbox, SandboxRequest, open_sandbox
from ostler.calls.thread import run_in_thread
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.shell import ShellCommand, build_shell_environment, read_end, run_shell
from ostler.model.command import Exit
from ostler.model.notice import AccessRefusedNotice
from ostler.model.policy.sandbox import Refusal, SandboxRecord, Tier, describe_refusal
from ostler.sandbox.box.tiers import choose_tier
from ostler.sandbox.launch import Launch

if TYPE_CHECKING:
    from ostler.calls.sandbox.workspace import Workspace

_MOUNTING: tuple[Tier, ...] = ("bubblewrap", "docker", "podman")  # tiers that have files of their own
_LOG_BYTES = 400_000
_MAX_NAMED = 3  # refusals in one message


class SandboxedRun(Struct, frozen=True):
    """How a command ended, in which sandbox, and what that refused."""

    exit: Exit
    sandbox: SandboxRecord
    refusals: tuple[Refusal, ...] = ()


def find_sandbox(services: StepServices, environ: Mapping[str, str]) -> SandboxRecord:
    """Return the sandbox of gates. Raises SANDBOX_UNAVAILABLE if a named tier does not work."""
    settings = services.settings.sandbox
    chosen = choose_tier(settings.tier, environ, settings.network, settings.image)
    if chosen.tier in ("landlock", "limits"):
        # Neither has mounts, and no mounts can be made in the first one.
        return SandboxRecord(reason=f"gates do not use the tier {chosen.tier}")
    return SandboxRecord(chosen.tier, chosen.verified, chosen.reason)


def has_own_files(sandbox: SandboxRecord) -> bool:
    """Return whether the sandbox has mounts; in others, gates are isolated as without a sandbox."""
    return sandbox.tier in _MOUNTING


async def run_in_sandbox(
    shell: ShellCommand,
    workspace: Workspace,
    context: TaskContext,
    services: StepServices,
    launch: Launch | None = None,
    network: bool = True,
) -> SandboxedRun:
    """Run the command in a sandbox with these files; without one if the tier has none."""
    refused: list[Refusal] = []
    settings, launch = services.settings.sandbox, launch or Launch()
    request = SandboxRequest(
        workspace,
        settings if network else replace(settings, network="off"),
        build_shell_environment(context, services) | launch.env,
        host_environ=services.environ,
        on_refusal=refused.append,
    )
    async with open_sandbox(request) as sandbox:
        inside = replace(launch, env=sandbox.env)
        ended = await run_shell(shell, context, services, inside, sandbox.launcher)
    refused += await run_in_thread(_read_refusals, shell, workspace, sandbox)
    refusals = tuple(dict.fromkeys(refused))
    if network:
        _notify(refusals, context, services)
    return SandboxedRun(ended, sandbox.record, refusals)


def list_records(services: StepServices) -> tuple[Path, ...]:
    """Return the directories with the journal and the files of all tasks."""
    return services.layout.state, services.layout.view


def describe_refusals(refusals: Iterable[Refusal]) -> str:
    """Return the first refusals in one line, with the settings that would allow them; empty if none."""
    lines = [describe_refusal(one.kind, one.target, one.setting) for one in refusals]
    more = [f"and {len(lines) - _MAX_NAMED} more"] if len(lines) > _MAX_NAMED else []
    return "; ".join((*lines[:_MAX_NAMED], *more))


def _read_refusals(shell: ShellCommand, workspace: Workspace, sandbox: OpenSandbox) -> tuple[Refusal, ...]:
    """Return the refusals that only the output of the command reports."""
    from ostler.calls.sandbox.file_refusals import create_sight, find_refusals  # noqa: PLC0415  (imported on use)
    from ostler.calls.sandbox.local_services import find_local_refusals  # noqa: PLC0415  (imported on use)

    if sandbox.box is None:
        return ()
    sight = create_sight(sandbox.box, workspace.records, agent=False)
    text = read_end(shell.log, _LOG_BYTES)
    return (*find_refusals(text, sight), *find_local_refusals(text, sandbox.box))


def _notify(refusals: tuple[Refusal, ...], context: TaskContext, services: StepServices) -> None:
    notices = [AccessRefusedNotice(one.kind, one.target, one.setting) for one in refusals]
    if notices:
        services.writer.notify(context.state.task, services.clock.now(), notices)
