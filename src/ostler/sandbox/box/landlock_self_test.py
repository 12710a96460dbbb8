"""Checks once per process that Landlock holds: with the real launcher, on files and ports made for it."""

from __future__ import annotations

import os
import socket
import tempfile
from functools import cache
from pathlib import Path

from ostler.model.command import Command
from ostler.model.policy.sandbox import Network
from ostler.process.tool import ToolTimeout, run_tool
from ostler.sandbox.box.box import Box
from ostler.sandbox.box.bubblewrap import find_interpreter
from ostler.sandbox.box.landlock import (
    SCOPES_VERSION,
    LandlockLauncher,
    find_missing_feature,
    open_listener,
)
from ostler.sandbox.box.restrict import find_landlock_version
from ostler.sandbox.box.seccomp import find_architecture
from ostler.sandbox.box.self_test import find_failed_checks
from ostler.sandbox.mounts import Mount

_SECONDS = 20.0
_PROBE = r"""
import _socket, posix, sys
other, allowed, forbidden, process = sys.argv[1:5]
def passed(name):
    print("passed:" + name)
def refused(name, action):
    try:
        action()
    except OSError:
        passed(name)
def opened(path, flags=posix.O_RDONLY):
    posix.close(posix.open(path, flags, 0o600))
def connect(port):
    _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM).connect(("127.0.0.1", int(port)))
opened("written", posix.O_WRONLY | posix.O_CREAT)
passed("work")
opened(posix.environ[b"HOME"].decode() + "/private")
passed("home")
opened(posix.environ[b"TMPDIR"].decode() + "/new", posix.O_WRONLY | posix.O_CREAT)
passed("temporary")
refused("write", lambda: opened(other + "/planted", posix.O_WRONLY | posix.O_CREAT))
refused("read", lambda: opened(other + "/secret"))
refused("list", lambda: posix.listdir(other))
refused("truncate", lambda: posix.truncate(other + "/secret", 0))
refused("remove", lambda: posix.unlink(other + "/secret"))
refused("system", lambda: opened("/usr/ostler-planted", posix.O_WRONLY | posix.O_CREAT))
refused("kernel", lambda: opened("/proc/sys/kernel/domainname", posix.O_WRONLY))
refused("memory", lambda: opened("/proc/%s/environ" % process))
refused("family", lambda: _socket.socket(40, _socket.SOCK_STREAM))
refused("unix", lambda: _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM))
refused("signal", lambda: posix.kill(int(process), 0))
refused("udp", lambda: _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM))
refused("connect", lambda: connect(forbidden))
if allowed != "0":
    connect(allowed)
    passed("proxy")
"""
_ALWAYS = frozenset({
    "work", "home", "temporary", "write", "read", "list", "truncate", "remove", "system", "kernel", "memory",
    "family", "unix",
})  # fmt: skip


@cache
def why_landlock_fails(network: Network) -> str:
    """Return why Landlock cannot be used here; empty if it works."""
    if not find_architecture():
        return f"there is no system call filter for {os.uname().machine}"
    version = find_landlock_version()
    if missing := find_missing_feature(version, network):
        return missing
    with tempfile.TemporaryDirectory(prefix="self-test-") as name, open_listener() as listener:
        proxy = listener if network == "proxy" else None
        return _run(_create_box(Path(os.path.realpath(name)), network), proxy, _list_checks(network, version))


def _list_checks(network: Network, version: int) -> frozenset[str]:
    found = set(_ALWAYS)
    if network != "on":
        found |= {"udp", "connect"}
    if network == "proxy":
        found.add("proxy")
    if version >= SCOPES_VERSION:
        found.add("signal")
    return frozenset(found)


def _create_box(directory: Path, network: Network) -> Box:
    work, other, home = (directory / name for name in ("work", "other", "home"))
    for one in (work, other, home):
        one.mkdir()
    (other / "secret").write_text("secret")
    (home / "private").write_text("private")
    return Box(work, home, home, mounts=(Mount(work, work, writable=True),), network=network)


def _run(box: Box, proxy: socket.socket | None, checks: frozenset[str]) -> str:
    allowed = str(proxy.getsockname()[1]) if proxy else "0"
    with socket.create_server(("127.0.0.1", 0)) as forbidden:
        arguments = (allowed, str(forbidden.getsockname()[1]), str(os.getpid()))
        argv = (find_interpreter(), "-I", "-S", "-c", _PROBE, str(box.home.parent / "other"), *arguments)
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(box.home)}
        command = Command(argv, str(box.directory), env)
        with LandlockLauncher(box, listener=proxy).launch(command) as started:
            try:
                ended = run_tool(
                    list(started.argv), env=started.env, cwd=started.cwd, timeout_seconds=_SECONDS
                )
            except (OSError, ToolTimeout) as error:
                return str(error)
    return find_failed_checks(ended, checks) or _check_files(box)


def _check_files(box: Box) -> str:
    is_kept = (box.home.parent / "other" / "secret").read_text() == "secret"
    return "" if is_kept and (box.directory / "written").exists() else "its self-test failed (files)"
