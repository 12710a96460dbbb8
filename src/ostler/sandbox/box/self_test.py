"""Checks once per process that a sandbox holds: with its real arguments, on files and ports made for it."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from ostler.process.tool import ToolTimeout, run_tool
from ostler.sandbox.box.box import Box
from ostler.sandbox.box.bubblewrap import Namespaces, find_interpreter, wrap_with_bubblewrap
from ostler.sandbox.box.seccomp import find_architecture, open_filter
from ostler.sandbox.mounts import Mount

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
Wrap = Callable[[Box, int], tuple[str, ...]]
"""Returns the arguments before those of the program, for a box and the descriptor of its filter."""


@cache
def why_bubblewrap_fails(program: str, namespaces: Namespaces) -> str:
    """Return why bubblewrap cannot be used here; empty if it works."""
    if not find_architecture():
        return f"there is no system call filter for {os.uname().machine}"
    return run_self_test(
        lambda box, fd: wrap_with_bubblewrap(program, namespaces, box, filter_fd=fd, control="-")
    )


def run_self_test(wrap: Wrap) -> str:
    """Run the checks in a box; return which ones failed, or an empty string."""
    with (
        tempfile.TemporaryDirectory(prefix="ostler-sandbox-") as name,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        directory = Path(os.path.realpath(name))
        box = _create_box(directory)
        secret = directory / "other" / "secret"
        port = str(server.getsockname()[1])
        return _run(wrap, box, [str(box.directory), str(secret.parent), str(secret), port])


def _create_box(directory: Path) -> Box:
    work, other, home, private = (directory / name for name in ("work", "other", "home", "private"))
    for one in (work, other, home, private):
        one.mkdir()
    (other / "secret").write_text("secret")
    (private / "private").write_text("private")
    return Box(work, private, home, mounts=(Mount(work, work, writable=True),))


def _run(wrap: Wrap, box: Box, arguments: list[str]) -> str:
    descriptor = open_filter()
    try:
        argv = [*wrap(box, descriptor), *_probe_command(), *arguments]
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(box.home_path)}
        ended = run_tool(
            argv, env=env, cwd=str(box.directory), timeout_seconds=_SECONDS, pass_fds=(descriptor,)
        )
    except (OSError, ToolTimeout) as error:
        return str(error)
    finally:
        os.close(descriptor)
    return _evaluate(ended.status, ended.stdout.decode(), ended.stderr.decode("utf-8", "replace"), box)


def _probe_command() -> list[str]:
    return [find_interpreter(), "-I", "-S", "-c", _PROBE]


def _evaluate(status: int, output: str, errors: str, box: Box) -> str:
    passed = {line.removeprefix(_PASSED) for line in output.splitlines() if line.startswith(_PASSED)}
    if status != 0:
        last = errors.strip().splitlines()[-1:]
        return f"its self-test failed (exit {status}" + "".join(f": {one}" for one in last) + ")"
    if failed := sorted(_CHECKS - passed):
        return f"its self-test failed ({', '.join(failed)})"
    return "" if (box.directory / "written").exists() else "its self-test failed (its files are not written)"
