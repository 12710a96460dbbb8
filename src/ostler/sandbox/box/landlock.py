"""Starts a program with Landlock, where no namespaces are available. It is weaker than bubblewrap."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.model.command import Command
from ostler.model.policy.sandbox import Network
from ostler.sandbox.box.attach import Attach, send_listener
from ostler.sandbox.box.box import Box
from ostler.sandbox.box.program_paths import list_program_paths
from ostler.sandbox.box.restrictions import Restrictions, Rules, wrap_with_restrictions
from ostler.sandbox.box.seccomp import build_filter, find_architecture
from ostler.sandbox.box.socket_filter import build_socket_filter
from ostler.sandbox.box.system import list_own_paths, list_system_paths, select_outer
from ostler.sandbox.limits.rlimits import list_rlimits
from ostler.sandbox.mounts import Mount
from ostler.sandbox.network.policy import PROXY_PORT

FILES_VERSION = 3  # the first version of Landlock that protects files from being emptied
PORTS_VERSION = 4  # the first version that restricts TCP connections
SCOPES_VERSION = 6  # the first version that protects other processes from signals
"""What is weaker than in bubblewrap, or does not work."""

_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
_TEMPORARY = ("TMPDIR", "TMP", "TEMP")
_PROC = Path("/proc")


class LandlockLauncher(Struct, frozen=True):
    """Changes a command so that it restricts itself before it starts.

    Its network is that of this machine, and nothing is mounted: HOME is the private directory of the box.
    """

    box: Box
    attach: Attach | None = None  # None: no proxy
    listener: socket.socket | None = None  # the port of this proxy, see open_listener

    @contextmanager
    def launch(self, command: Command) -> Generator[Command]:
        """See Launcher.launch."""
        if self.attach is not None and self.listener is not None:
            send_listener(self.attach, self.listener)
        with tempfile.TemporaryDirectory(prefix="ostler-tmp-") as temporary:
            argv = (*self._wrap(command, temporary), *command.argv)
            yield replace(command, argv=argv, env=command.env | dict.fromkeys(_TEMPORARY, temporary))

    def _wrap(self, command: Command, temporary: str) -> tuple[str, ...]:
        box = replace(self.box, readable=(*self.box.readable, *list_program_paths(command)))
        rules = Rules(
            readable=tuple(map(str, _list_readable(box))),
            writable=(*map(str, _list_writable(box)), temporary),
            ports=list_ports(box, self.listener),
        )
        rlimits = list_rlimits(box.limits, cgroup_limits_processes=False, own_user_namespace=False)
        architecture = find_architecture()
        filters = (build_filter(architecture), build_socket_filter(architecture, box.network))
        return wrap_with_restrictions(Restrictions(rlimits, rules, filters))


def open_listener() -> socket.socket:
    """Open a free port of this machine for the proxy of one attempt; several attempts run at once."""
    found = socket.create_server(("127.0.0.1", 0), backlog=128)
    if found.getsockname()[1] != PROXY_PORT:
        return found
    with found:  # the number of ports of other tiers, whose connections need no check
        return open_listener()


def list_ports(box: Box, listener: socket.socket | None) -> tuple[int, ...] | None:
    """Return the ports to which the program may connect; None: all."""
    if box.network == "on":
        return None
    if box.network == "off":
        return ()
    return (*((listener.getsockname()[1],) if listener else ()), *box.local_ports)


def find_missing_feature(version: int, network: Network) -> str:
    """Return what the kernel's Landlock lacks for this sandbox; empty if it has everything."""
    if version == 0:
        return "the kernel has no Landlock, or it is switched off"
    if version < FILES_VERSION:
        return f"Landlock {version} of this kernel cannot protect files from being emptied (Linux 6.2 can)"
    if network == "proxy" and version < PORTS_VERSION:
        return (
            f"Landlock {version} of this kernel cannot restrict the network (Linux 6.7 can):"
            ' set sandbox.network to "on" or "off"'
        )
    return ""


def _list_readable(box: Box) -> list[Path]:
    system, _ = list_system_paths()
    found = select_outer((*list_own_paths(), *box.readable), (box.home_path, box.home))
    return [*system, *found, *_list_sources(box, writable=False), _PROC]


def _list_writable(box: Box) -> list[Path]:
    return [box.home, *_list_sources(box, writable=True), *(Path("/dev", name) for name in _DEVICES)]


def _list_sources(box: Box, *, writable: bool) -> list[Path]:
    hidden = [one.destination for one in box.mounts if _hides(one)]
    sources = [one.source for one in box.mounts if one.writable == writable and not _hides(one)]
    return [path for one in sources for path in _split(one, hidden)]


def _hides(mount: Mount) -> bool:
    """Return whether an empty directory is mounted over another one."""
    return mount.source != mount.destination and mount.source.is_dir() and not any(mount.source.iterdir())


def _split(path: Path, hidden: list[Path]) -> list[Path]:
    """Return the path, or its entries without those that are hidden: a rule applies to all of a directory."""
    inside = [one for one in hidden if one.is_relative_to(path)]
    if not inside:
        return [path]
    if path in inside:
        return []
    return [found for entry in path.iterdir() for found in _split(entry, inside)]
