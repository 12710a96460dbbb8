"""Checks once per process that a sandbox holds: with its real arguments, on files and ports made for it."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from ostler.process.tool import ToolResult, ToolTimeout, run_tool
from ostler.sandbox.box.box import Box
from ostler.sandbox.box.bubblewrap import Namespaces, find_interpreter, wrap_with_bubblewrap
from ostler.sandbox.box.seccomp import find_architecture, open_filter
from ostler.sandbox.mounts import Mount
from ostler.sandbox.self_test import describe_exit

_SECONDS = 20.0
_PASSED = "passed:"
# Each check prints its name when the sandbox refused what it tried, or allowed what it must allow.
_PROBE = r"""
import _socket, posix, sys
work, other, secret, port = sys.argv[1:5]
def refused(name, action):
    try:
        action()
    except OSError:
        print("passed:" + name)
def opened(path, flags=posix.O_RDONLY):
    posix.close(posix.open(path, flags, 0o600))
def connect():
    _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM).connect(("127.0.0.1", int(port)))
def count_processes():
    if sum(name.isdigit() for name in posix.listdir("/proc")) < 5:
        raise OSError
opened(work + "/written", posix.O_WRONLY | posix.O_CREAT)
print("passed:work")
opened(posix.environ[b"HOME"].decode() + "/private")
print("passed:home")
refused("write", lambda: opened(other + "/planted", posix.O_WRONLY | posix.O_CREAT))
refused("read", lambda: opened(secret))
refused("system", lambda: opened("/usr/ostler-planted", posix.O_WRONLY | posix.O_CREAT))
refused("kernel", lambda: opened("/proc/sys/kernel/domainname", posix.O_WRONLY))
refused("first", lambda: opened("/proc/1/mem", posix.O_WRONLY))
refused("connect", connect)
refused("process", count_processes)
refused("family", lambda: _socket.socket(40, _socket.SOCK_STREAM))
"""
_CHECKS = frozenset(
    {"work", "home", "write", "read", "system", "kernel", "first", "connect", "process", "family"}
)
RunProbe = Callable[[Box, tuple[str, ...]], ToolResult]
"""Runs Python with these arguments in a box."""


@cache
def why_bubblewrap_fails(program: str, namespaces: Namespaces) -> str:
    """Return why bubblewrap cannot be used here; empty if it works."""
    if not find_architecture():
        return f"there is no system call filter for {os.uname().machine}"
    return run_self_test(partial(_run_in_bubblewrap, program, namespaces))


def run_self_test(run: RunProbe) -> str:
    """Run the checks in a box; return which ones failed, or an empty string."""
    with (
        tempfile.TemporaryDirectory(prefix="self-test-") as name,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        directory = Path(os.path.realpath(name))
        box = _create_box(directory)
        secret = directory / "other" / "secret"
        port = str(server.getsockname()[1])
        arguments = (str(box.directory), str(secret.parent), str(secret), port)
        try:
            ended = run(box, ("-I", "-S", "-c", _PROBE, *arguments))
        except (OSError, ToolTimeout) as error:
            return str(error)
        return find_failed_checks(ended, _CHECKS) or _check_files(box)


def _create_box(directory: Path) -> Box:
    work, other, home, private = (directory / name for name in ("work", "other", "home", "private"))
    for one in (work, other, home, private):
        one.mkdir()
    (other / "secret").write_text("secret")
    (private / "private").write_text("private")
    return Box(work, private, home, mounts=(Mount(work, work, writable=True),))


def _run_in_bubblewrap(
    program: str, namespaces: Namespaces, box: Box, arguments: tuple[str, ...]
) -> ToolResult:
    descriptor = open_filter()
    try:
        wrapped = wrap_with_bubblewrap(program, namespaces, box, filter_fd=descriptor, control="-")
        return run_tool(
            [*wrapped, find_interpreter(), *arguments],
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": str(box.home_path)},
            cwd=str(box.directory),
            timeout_seconds=_SECONDS,
            pass_fds=(descriptor,),
        )
    finally:
        os.close(descriptor)


def find_failed_checks(ended: ToolResult, checks: frozenset[str]) -> str:
    """Return which checks did not print that they passed; empty if all did."""
    lines = ended.stdout.decode("utf-8", "replace").splitlines()
    passed = {line.removeprefix(_PASSED) for line in lines if line.startswith(_PASSED)}
    if ended.status != 0:
        return describe_exit(ended)
    failed = sorted(checks - passed)
    return f"its self-test failed ({', '.join(failed)})" if failed else ""


def _check_files(box: Box) -> str:
    return "" if (box.directory / "written").exists() else "its self-test failed (its files are not written)"
