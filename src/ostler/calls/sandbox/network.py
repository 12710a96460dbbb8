"""The network of a sandbox: its proxy, and the package indexes that it allows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from ostler.calls.sandbox.warm_up import OUTSIDE
from ostler.config.host import parse_allow_hosts
from ostler.config.settings import SandboxSettings
from ostler.files.user_cache import find_user_cache
from ostler.sandbox.box.attach import Attach
from ostler.sandbox.home.writer import write_private
from ostler.sandbox.mounts import Mount
from ostler.sandbox.network.indexes.found import Indexes
from ostler.sandbox.network.policy import CheckUsage, ModelRoute, NetworkPolicy, OnRefusal


async def find_package_indexes(
    settings: SandboxSettings,
    environ: Mapping[str, str],
    project: Path,
    mounts: Iterable[Mount] = (),
    *,
    ask_again: bool = False,
) -> Indexes:
    """Return the indexes that the tools use in the user's checkout; none without the proxy.

    What programs can write to with these mounts is not read: an index or directory that one of them named
    in requirements.txt, or in a kept answer, would be open to the next one.
    """
    if settings.network != "proxy":
        return Indexes()
    writable, cache = [one.source for one in mounts if one.writable], find_user_cache(environ)
    if any(project.is_relative_to(one) for one in writable):
        project = OUTSIDE
    if cache is not None and any(cache.is_relative_to(one) for one in writable):
        ask_again = True
    from ostler.sandbox.network.indexes.find import find_indexes  # noqa: PLC0415  (imported on use)

    return await asyncio.to_thread(find_indexes, environ, project, ask_again=ask_again)


def write_index_settings(indexes: Indexes, home: Path) -> None:
    """Write the settings of package tools, such as pip.conf, to a private home directory."""
    for name, content in indexes.files.items():
        write_private(home, name, content)


def build_policy(settings: SandboxSettings, indexes: Indexes, route: ModelRoute | None) -> NetworkPolicy:
    """Return what the proxy allows: the settings, the indexes and the model."""
    hosts, ports = parse_allow_hosts(settings.allow_hosts)
    every_port = tuple(dict.fromkeys((*ports, *indexes.local_ports)))
    return NetworkPolicy(tuple(dict.fromkeys((*hosts, *indexes.hosts))), every_port, route)


async def open_proxy(
    policy: NetworkPolicy,
    environ: Mapping[str, str],
    on_refusal: OnRefusal,
    check_usage: CheckUsage,
    stack: AsyncExitStack,
) -> Attach:
    """Start the proxy, which ends with the stack."""
    from ostler.sandbox.network.proxy import Proxy  # noqa: PLC0415  (imported on use)

    proxy = await stack.enter_async_context(Proxy(policy, on_refusal, check_usage, environ=environ))
    return proxy.attach
