"""A network namespace in which only loopback exists, and the processes inside it.

A process that a system starts cannot leave the namespace by becoming a daemon, so none is overlooked.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

from measure import memory_mb
from peers.agent import SLEEP

INSIDE = "OSTLER_PEERS_INSIDE"
SET_CHILD_SUBREAPER = 36  # orphans become children of this process, so that their CPU time is counted
SET_FLAGS, UP_AND_RUNNING = 0x8914, 0x41  # SIOCSIFFLAGS, IFF_UP | IFF_RUNNING


def enter(module: str) -> None:
    """Start this program again in a namespace of its own; inside, switch loopback on."""
    if os.environ.get(INSIDE) != "1":
        again = (sys.executable, "-m", module, *sys.argv[1:])
        os.environ[INSIDE] = "1"
        os.execvp("unshare", ("unshare", "--map-root-user", "--net", *again))
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sh", b"lo", UP_AND_RUNNING))
    names = [name for _, name in socket.if_nameindex()]
    assert names == ["lo"], f"there are other interfaces than loopback: {names}"


def started() -> list[psutil.Process]:
    """All processes inside except this one, and those that they put into other namespaces."""
    network = namespace(os.getpid())
    found: dict[int, psutil.Process] = {}
    for pid in psutil.pids():
        if pid != os.getpid() and namespace(pid) == network:
            with suppress(psutil.NoSuchProcess):
                process = psutil.Process(pid)
                found |= {one.pid: one for one in (process, *process.children(recursive=True))}
    return list(found.values())


def namespace(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return ""


def command_line(process: psutil.Process) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{process.pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    return []


def agents(path: Path) -> list[psutil.Process]:
    """The agents that run, of whatever mode, and the daemons that they left."""
    return [one for one in started() if is_agent(command_line(one), path)]


def is_agent(argv: list[str], path: Path) -> bool:
    return argv == SLEEP.split() or (len(argv) > 1 and argv[0].endswith("sh") and argv[1] == str(path))


def memory_of_system(path: Path) -> float:
    """Proportional memory in MB of all that was started, except agents and what they started."""
    theirs = {one.pid for agent in agents(path) for one in (agent, *agent.children(recursive=True))}
    total = 0.0
    for process in started():
        if process.pid not in theirs:
            with suppress(OSError):  # a program of git may end at any time
                total += memory_mb(process.pid)
    return total


def end_all() -> None:
    """Kill what is left inside; raises RuntimeError when something survives."""
    for _ in range(200):
        left = started()
        if not left:
            return
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        reap()
        time.sleep(0.05)
    raise RuntimeError(f"these processes do not end: {left}")


def reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
