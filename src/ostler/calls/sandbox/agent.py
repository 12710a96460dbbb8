"""The sandbox of one attempt: opens it, and returns the call as the executor has to run it inside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.sandbox.open import OpenSandbox, SandboxRequest, allow_usage, choose_sandbox, open_sandbox
from ostler.calls.spending.running import RunningCost
from ostler.config.settings import SandboxSettings, Settings
from ostler.errors import Code, OstlerError
from ostler.executors.permissions import resolve_permissions
from ostler.executors.protocol import Executor
from ostler.executors.sandboxed.prepared import PreparedAgent
from ostler.files.user_state import find_user_state
from ostler.model.call import AccessRefused, AgentCall, AgentEvent, OnEvent, PermissionSetting, WarningRaised
from ostler.model.policy.sandbox import Refusal, SandboxRecord
from ostler.sandbox.box.tiers import ChosenTier

if TYPE_CHECKING:
    from ostler.calls.sandbox.workspace import Workspace
    from ostler.sandbox.box.box import Box


class AgentSandbox(Struct, frozen=True):
    """What the sandbox of an attempt is opened for."""

    call: AgentCall
    executor: Executor
    settings: Settings
    on_event: OnEvent
    workspace: Workspace | None = None  # None: the working directory of the call
    running: RunningCost | None = None
    host_environ: Mapping[str, str] = {}  # of Ostler


class SandboxedCall(Struct, frozen=True):
    """The call to run, the sandbox that it runs in, and the permissions that the agent gets."""

    call: AgentCall
    record: SandboxRecord
    permissions: str = ""
    on_event: OnEvent | None = None  # also finds refused files; None: nothing is refused


async def find_expected_sandbox(
    executor: Executor, settings: SandboxSettings, environ: Mapping[str, str]
) -> SandboxRecord | None:
    """Return the sandbox that an attempt will get; None if it cannot start."""
    if not executor.capabilities.starts_program:
        return SandboxRecord()
    try:
        chosen = await choose_sandbox(settings, environ)
    except OstlerError:
        return None  # opening the sandbox reports it
    network = settings.network if chosen.is_sandbox else "on"
    return SandboxRecord(chosen.tier, chosen.verified, chosen.reason, network)


def require_model_network(executor: Executor, settings: SandboxSettings, chosen: ChosenTier) -> None:
    """Raise for an agent that has a model and would get no network; a program of the user may need none."""
    from ostler.executors.program.executor import ProgramExecutor  # noqa: PLC0415  (imported on use)

    has_model = isinstance(executor, ProgramExecutor) and executor.spec.sandbox is not None
    if has_model and chosen.is_sandbox and settings.network == "off":
        message = f'sandbox.network is "off", so {executor.name} cannot connect to its model'
        raise OstlerError(Code.CONFIG_INVALID, message, 'set sandbox.network = "proxy" in ostler.toml')


@asynccontextmanager
async def open_agent_sandbox(agent: AgentSandbox) -> AsyncGenerator[SandboxedCall]:
    """Open the sandbox; an executor that starts no program needs none."""
    from ostler.calls.sandbox.environment import format_proxy_url  # noqa: PLC0415  (imported on use)
    from ostler.calls.sandbox.port import open_port  # noqa: PLC0415  (imported on use)

    if not agent.executor.capabilities.starts_program:
        yield SandboxedCall(agent.call, SandboxRecord())
        return
    workspace = agent.workspace or _create_workspace(agent.call)
    if workspace is None:
        no_home = OpenSandbox(SandboxRecord(reason="there is no home directory"))
        yield _apply(agent, no_home, PreparedAgent())
        return
    chosen = await choose_sandbox(agent.settings.sandbox, agent.call.env)
    require_model_network(agent.executor, agent.settings.sandbox, chosen)
    with open_port(chosen) as port:
        prepared = await _prepare(agent, workspace, chosen, format_proxy_url(port.number))
        request = SandboxRequest(
            workspace,
            agent.settings.sandbox,
            agent.call.env,
            host_environ=agent.host_environ,
            route=prepared.route,
            memory_mb=agent.call.memory_mb,
            on_refusal=lambda refusal: agent.on_event(_describe(refusal)),
            check_usage=agent.running.add if agent.running else allow_usage,
            port=port,
            chosen=chosen,
        )
        for warning in prepared.warnings:
            agent.on_event(WarningRaised(warning))
        async with open_sandbox(request) as sandbox:
            yield _apply(agent, sandbox, prepared)


async def _prepare(
    agent: AgentSandbox, workspace: Workspace, chosen: ChosenTier, proxy_url: str
) -> PreparedAgent:
    """Fill the home directory of the sandbox, if there is one, and find the route to the model."""
    settings, call = agent.settings.sandbox, agent.call
    if not chosen.is_sandbox:
        return PreparedAgent()
    from ostler.executors.sandboxed.prepare import prepare_agent  # noqa: PLC0415  (imported on use)

    url = proxy_url if settings.network == "proxy" else ""
    return await asyncio.to_thread(prepare_agent, agent.executor, call, workspace.home, url, settings.home)


def _create_workspace(call: AgentCall) -> Workspace | None:
    from ostler.calls.sandbox.workspace import create_plain_workspace  # noqa: PLC0415  (imported on use)

    state = find_user_state(call.env)
    return create_plain_workspace(Path(call.cwd).resolve(), state) if state else None


def _apply(agent: AgentSandbox, sandbox: OpenSandbox, prepared: PreparedAgent) -> SandboxedCall:
    from ostler.calls.sandbox.environment import format_proxy_url  # noqa: PLC0415  (imported on use)

    call = agent.call
    box = sandbox.box
    if sandbox.launcher is not None:
        call = replace(
            call,
            env=sandbox.env,
            launcher=sandbox.launcher,
            home=str(box.home) if box else "",
            in_verified_sandbox=sandbox.record.verified,
            model_url=format_proxy_url(box.proxy_port) if box and box.network == "proxy" else "",
            access=prepared.access,
        )
    elif sandbox.env:
        call = replace(call, env=sandbox.env)
    record = replace(sandbox.record, left_out=prepared.left_out)
    permissions = _find_permissions(agent.executor, call)
    return SandboxedCall(call, record, permissions, _watch_tools(agent, sandbox.box, prepared.left_out))


def _find_permissions(executor: Executor, call: AgentCall) -> str:
    """Return the permissions that the agent gets; empty for a program without them."""
    setting: PermissionSetting | None = getattr(executor, "permissions", None)
    return resolve_permissions(setting, call) if setting else ""


def _watch_tools(agent: AgentSandbox, box: Box | None, left_out: tuple[str, ...]) -> OnEvent | None:
    """Return a receiver of events that adds one for what the output of a tool shows as refused."""
    if box is None:
        return None
    from ostler.calls.sandbox.file_refusals import FileRefusals, create_sight  # noqa: PLC0415  (imported on use)
    from ostler.calls.sandbox.local_services import LocalRefusals  # noqa: PLC0415  (imported on use)
    from ostler.calls.sandbox.push_refusals import PushRefusals  # noqa: PLC0415  (imported on use)

    records = agent.workspace.records if agent.workspace else ()
    files, services = FileRefusals(create_sight(box, records, left_out)), LocalRefusals(box)
    pushes = PushRefusals(box.network)

    def on_event(event: AgentEvent) -> None:
        agent.on_event(event)
        for one in (*files.read(event), *services.read(event), *pushes.read(event)):
            agent.on_event(one)

    return on_event


def _describe(refusal: Refusal) -> AccessRefused:
    return AccessRefused(refusal.kind, refusal.target, refusal.setting)
