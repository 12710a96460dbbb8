"""The first process of a container: python3 -I -S supervisor.py START-FILE

It connects to the run that started the container, sends it the listening ports of the proxy, starts the
program, and exits with its status. When the connection ends, the run is dead or has stopped the program: all
processes of the container are killed. It runs with the Python of the image (3.8 or newer) and uses only the
standard library. The start file is JSON: {"control": PATH, "ports": [PORT], "argv": [ARGUMENT], "env": {},
"path": [DIRECTORY]}; the directories are before those of the image.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import json
import os
import re
import select
import signal
import socket
import sys
from typing import Any, NoReturn

_OOM_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_FAILED = 125
_SET_DUMPABLE = 4
_SHELL_SIGNAL = 128


def main(path: str) -> NoReturn:
    """Run the program of the start file."""
    if os.getpid() != 1:
        # It kills all other processes that it can reach.
        _end("the supervisor must be the first process of a container")
    # It has no system call filter: the program, which has the same user, must not write its memory.
    if ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        _end("the supervisor cannot be protected")
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        start = json.load(file)
    try:
        control = _connect(start)
    except OSError as error:
        _end(f"the run cannot be reached: {error}")
    wakeup, kills = _handle_signals(), _count_oom_kills()
    program = _start_program(start, control)
    status = _supervise(control, wakeup, program)
    _end_all()
    if _count_oom_kills() > kills:
        with contextlib.suppress(OSError):  # the run is dead
            control.sendall(b"oom\n")
    control.close()
    os._exit(status)


def _connect(start: dict[str, Any]) -> socket.socket:
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    control.connect(start["control"])
    for port in start["ports"]:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port))
            listener.listen(128)
            descriptors = array.array("i", [listener.fileno()])
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)
            control.sendmsg([b"%d\n" % port], [rights])
    control.sendall(b"ready\n")
    return control


def _start_program(start: dict[str, Any], control: socket.socket) -> int:
    pid = os.fork()
    if pid:
        return pid
    control.close()
    argv, env = start["argv"], {**os.environ, **start["env"]}
    env["PATH"] = os.pathsep.join([*start["path"], os.environ.get("PATH", os.defpath)])
    try:
        os.execvpe(argv[0], argv, env)  # noqa: S606
    except OSError as error:
        _end(f"cannot start {argv[0]}: {error.strerror}", 127)


def _handle_signals() -> int:
    """Send signals for the program to all processes; return a descriptor that becomes readable at each."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in _FORWARDED:
        signal.signal(number, lambda received, frame: _kill_all(received))
    signal.signal(signal.SIGCHLD, lambda received, frame: None)
    return reader


def _supervise(control: socket.socket, wakeup: int, program: int) -> int:
    """Wait for the program, or for the end of the run; return the status."""
    while True:
        ready, _, _ = select.select([control, wakeup], [], [])
        if wakeup in ready:
            os.read(wakeup, 4096)
        if control in ready and not control.recv(1):
            return _SHELL_SIGNAL + signal.SIGKILL
        status = _reap(program)
        if status is not None:
            return status


def _reap(program: int) -> int | None:
    """Collect the processes that exited; return the status of the program if it is one of them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == program:
            is_killed = os.WIFSIGNALED(status)
            found = _SHELL_SIGNAL + os.WTERMSIG(status) if is_killed else os.WEXITSTATUS(status)


def _end_all() -> None:
    """Kill all other processes until none is left: they are children of this one, or become such."""
    while True:
        _kill_all(signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _kill_all(number: int) -> None:
    try:
        os.kill(-1, number)
    except ProcessLookupError:
        return


def _count_oom_kills() -> int:
    for path in _OOM_COUNTERS:
        try:
            with open(path, encoding="ascii") as file:  # noqa: PTH123
                found = re.search(r"^oom_kill (\d+)$", file.read(), re.MULTILINE)
        except OSError:
            continue
        if found:
            return int(found.group(1))
    return 0


def _end(message: str, status: int = _FAILED) -> NoReturn:
    os.write(2, f"ostler: {message}\n".encode())
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1])
