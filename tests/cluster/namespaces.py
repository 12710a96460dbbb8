"""The network of a cluster and its hosts, from namespaces of Linux; works with and without root.

A cluster runs in a network and process namespace of its own: `enter` starts a program there. It has a bridge,
which is the network of the cluster. A host has namespaces of its own again, and a pair of interfaces as its
cable to the bridge. Without root, everything is in a user namespace that keeps the user's id, as PostgreSQL
refuses to run as root. When the first process of a cluster or of a host ends, the kernel ends the rest.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

BRIDGE, NETWORK = "cluster0", "10.77.0"
GATEWAY = f"{NETWORK}.1"  # where the servers listen
_SECONDS = 20.0


def enter(command: Sequence[str]) -> list[str]:
    """Return the command line that runs a command in the namespaces of a new cluster."""
    user = () if os.geteuid() == 0 else ("--user", "--map-current-user", "--keep-caps")
    rest = ("--net", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc")
    return [_require("unshare"), *user, *rest, "--", *command]


def make_network() -> None:
    """Create the bridge and its address; this process must have been started by `enter`."""
    ip("link", "set", "lo", "up")
    ip("link", "add", BRIDGE, "type", "bridge", "forward_delay", "0", "stp_state", "0")
    ip("addr", "add", f"{GATEWAY}/24", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")


class HostNamespace:
    """The namespaces of one host: network, processes, name, and a view of the files without other hosts."""

    def __init__(self, number: int, name: str, own: Path, hidden: Sequence[Path]) -> None:
        self.name, self.own, self._number, self._hidden = name, own, number, hidden
        self._cable = f"cable{number}"
        self._unshare: subprocess.Popen[str] | None = None
        self._first = 0  # its process 1, as this process sees it

    def start(self) -> None:
        """Switch the machine on and plug its cable in."""
        init = Path(__file__).with_name("host_init.py")
        arguments = (self.name, str(self.own), *map(str, self._hidden))
        kinds = ("--net", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child=KILL", "--mount-proc")
        self._unshare = subprocess.Popen(
            [_require("unshare"), *kinds, "--", sys.executable, "-SE", str(init), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._unshare.stdout is not None
        if self._unshare.stdout.readline() != "ready\n":
            raise RuntimeError(f"the host {self.name} did not start: {self._unshare.wait(_SECONDS)}")
        (init_process,) = psutil.Process(self._unshare.pid).children()
        self._first = init_process.pid
        ip("link", "add", self._cable, "type", "veth", "peer", "name", "eth0", "netns", str(self._first))
        ip("link", "set", self._cable, "master", BRIDGE)
        ip("link", "set", self._cable, "up")
        for args in (("link", "set", "lo", "up"), ("link", "set", "eth0", "up")):
            self.run(["ip", *args])
        self.run(["ip", "addr", "add", f"{NETWORK}.{self._number + 10}/24", "dev", "eth0"])

    @property
    def address(self) -> str:
        return f"{NETWORK}.{self._number + 10}"

    def enter(self, command: Sequence[str], place: Path | None = None, *, as_user: bool = True) -> list[str]:
        """Return the command line that runs a command on this host."""
        directory = (f"--wd={place}",) if place else ()
        kinds = ("--net", "--mount", "--pid", "--uts", "--ipc")
        user = ()
        if as_user and os.geteuid() != 0:
            user = (_require("setpriv"), "--ambient-caps=-all", "--inh-caps=-all", "--")
        return [_require("nsenter"), f"--target={self._first}", *kinds, *directory, "--", *user, *command]

    def run(self, command: Sequence[str]) -> None:
        """Run an administrator's command on this host."""
        subprocess.run(self.enter(command, as_user=False), check=True, timeout=_SECONDS)

    def cut(self) -> None:
        """Cut the cable inside the network: the host keeps its link and address, and no packet arrives."""
        ip("link", "set", self._cable, "nomaster")

    def heal(self) -> None:
        ip("link", "set", self._cable, "master", BRIDGE)

    def processes(self) -> list[psutil.Process]:
        """Return the processes of this host, without its process 1."""
        mine = _pid_namespace(self._first)
        found = (process for process in psutil.process_iter() if _pid_namespace(process.pid) == mine)
        return [process for process in found if process.pid != self._first]

    def cpu_seconds(self) -> float:
        """Return the processor time of the processes that run now."""
        used = 0.0
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                used += times.user + times.system
        return used

    def freeze(self) -> None:
        self._signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: int) -> None:
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def power_off(self) -> None:
        """End everything on this host at once."""
        if self._unshare is None:
            return
        with suppress(ProcessLookupError):
            os.kill(self._first, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # on a busy machine it ends later, with the cluster
            self._unshare.wait(_SECONDS)
        # The kernel removes the cable some time after the last process of the namespace.
        deadline = time.monotonic() + _SECONDS
        while Path("/sys/class/net", self._cable).exists() and time.monotonic() < deadline:
            subprocess.run(["ip", "link", "del", self._cable], capture_output=True, check=False)
            time.sleep(0.05)
        self._unshare = None


def ip(*args: str) -> None:
    command = [_require("ip"), *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(args)}: {done.stderr.strip()}")


def find_obstacle() -> str:
    """Return why no cluster can be made on this machine; empty if it can."""
    try:
        check = "from cluster.namespaces import make_network; make_network()"
        command = enter([sys.executable, "-c", check])
    except RuntimeError as error:
        return str(error)
    environ: Mapping[str, str] = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)
    return done.stderr.strip()[-500:] if done.returncode else ""


def _pid_namespace(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return ""


def _require(program: str) -> str:
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        raise RuntimeError(f"{program} is not installed")
    return found
