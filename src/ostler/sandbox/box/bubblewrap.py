"""Starts a program in its box with bubblewrap."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from ostler.sandbox.box.box import Box
from ostler.sandbox.box.entry import SOURCE
from ostler.sandbox.box.system import (
    is_below,
    list_own_paths,
    list_system_paths,
    select_outer,
    start_of_paths,
)
from ostler.sandbox.mounts import Mount
from ostler.sandbox.network.policy import PROXY_PORT

Namespaces = Literal["user", "root"]
"""`root`: without a user namespace, for root on a machine that refuses them."""

# bwrap ends at SIGTERM, and the program would be killed with it: only the program receives the signal.
_OUTER = 'trap "" TERM INT HUP; exec "$0" "$@"'
# Kernel interfaces that are writable for root inside a user namespace too.
_PROC = (
    *("sys", "sysrq-trigger", "irq", "bus", "fs", "scsi", "acpi"),
    *("driver", "asound", "tty", "keys", "timer_list", "mtrr", "pressure", "dynamic_debug"),
)
_MASKED = ("kcore", "kallsyms", "kmsg", "config.gz", "kpagecount", "kpageflags", "kpagecgroup", "vmallocinfo")
# The first process is bwrap, which has no system call filter: a program must not write its memory.
_FIRST = ("--tmpfs", "/proc/1", "--remount-ro", "/proc/1")
_TMP_BYTES = 2 << 30
_SHM_BYTES = 256 << 20


def wrap_with_bubblewrap(
    program: str,
    namespaces: Namespaces,
    box: Box,
    *,
    filter_fd: int,
    control: str,
    terminal: bool = False,
    variables: Mapping[str, str] = {},
    mounts: tuple[Mount, ...] | None = None,
) -> tuple[str, ...]:
    """Return the arguments before those of the program. `control`: see the entry program.

    `variables` are set inside only. `mounts` are those of the box, where they are listed already.
    """
    mounts = list_mounts(box) if mounts is None else mounts
    return (
        "/bin/sh", "-c", _OUTER, program, *_unshare(namespaces, box),
        "--die-with-parent", "--cap-drop", "ALL", *(() if terminal else ("--new-session",)),
        *_mount_system(), *_mount_all(mounts),
        "--remount-ro", "/dev", "--remount-ro", "/",
        *(one for pair in variables.items() for one in ("--setenv", *pair)),
        "--seccomp", str(filter_fd), "--chdir", str(box.directory), "--", *build_entry(box, control),
    )  # fmt: skip


def list_mounts(box: Box) -> tuple[Mount, ...]:
    """Return all mounts apart from those of the system, in order."""
    home = Mount(box.home, box.home_path, writable=True)
    readable = [Mount(one, one) for one in _select_readable(box)]
    if not any(box.home_path.is_relative_to(one.destination) for one in box.mounts):
        return (home, *readable, *box.mounts)
    # The home directory is in the project, whose mount hides it.
    hidden = [one for one in readable if one.destination.is_relative_to(box.home_path)]
    return (*readable, *box.mounts, home, *hidden)


def build_entry(box: Box, control: str) -> tuple[str, ...]:
    """Return the entry program with its arguments."""
    ports = ",".join(map(str, (PROXY_PORT, *box.local_ports)))
    limits = f"CORE=0,FSIZE={box.limits.file_mb << 20}"
    if os.geteuid() != 0:
        limits += f",NPROC={box.limits.processes}"
    return (find_interpreter(), "-I", "-S", "-c", SOURCE, control, ports, limits)


def find_interpreter() -> str:
    """Return the interpreter without its virtual environment, which starts faster."""
    name = f"bin/python{sys.version_info.major}.{sys.version_info.minor}"
    own = Path(sys.base_prefix, name)
    return str(own) if own.exists() else sys.executable


def _unshare(namespaces: Namespaces, box: Box) -> tuple[str, ...]:
    user = ("--unshare-user", "--disable-userns") if namespaces == "user" else ()
    network = () if box.network == "on" else ("--unshare-net",)
    return (*user, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", *network)


def _mount_system() -> Iterable[str]:
    paths, links = list_system_paths()
    for path in paths:
        yield from ("--ro-bind", str(path), str(path))
    for target, name in links:
        yield from ("--symlink", target, name)
    yield from ("--proc", "/proc")
    for name in _PROC:
        yield from ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
    for name in _MASKED:
        if Path("/proc", name).exists():
            yield from ("--ro-bind", "/dev/null", f"/proc/{name}")
    yield from _FIRST
    yield from ("--dev", "/dev", "--size", str(_SHM_BYTES), "--perms", "1777", "--tmpfs", "/dev/shm")  # noqa: S108
    yield from ("--size", str(_TMP_BYTES), "--perms", "1777", "--tmpfs", "/tmp")  # noqa: S108
    yield from ("--perms", "1777", "--size", str(_TMP_BYTES), "--tmpfs", "/var/tmp", "--dir", "/run")  # noqa: S108


def _select_readable(box: Box) -> list[Path]:
    """Return the paths without those that the system's directories contain; none may contain the home."""
    system, links = list_system_paths()
    known = start_of_paths((*system, *(Path(name) for _, name in links)))
    found = select_outer((*list_own_paths(), *box.readable), (box.home_path, box.home))
    return [one for one in found if not is_below(one, known)]


def _mount_all(mounts: Iterable[Mount]) -> Iterable[str]:
    for one in mounts:
        yield from ("--bind" if one.writable else "--ro-bind", str(one.source), str(one.destination))
