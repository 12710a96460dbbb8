"""The files, network and limits of a program inside its sandbox; the same for every tier."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from ostler.model.policy.sandbox import Network
from ostler.sandbox.mounts import Mount
from ostler.sandbox.network.policy import PROXY_PORT


class Limits(Struct, frozen=True):
    """Resources of all processes of one sandbox."""

    processes: int = 2048
    file_mb: int = 4096
    memory_mb: int | None = None  # None: no limit


class Box(Struct, frozen=True):
    """The files, the network and the limits of one sandbox."""

    directory: Path  # the working directory
    home: Path  # a private directory of the task, mounted at home_path
    home_path: Path
    readable: tuple[Path, ...] = ()  # programs and packages, read-only at their own paths
    mounts: tuple[Mount, ...] = ()  # in order, after all others
    network: Network = "proxy"
    proxy_port: int = PROXY_PORT  # on 127.0.0.1
    local_ports: tuple[int, ...] = ()  # services of this machine that the proxy connects to
    limits: Limits = Limits()
