"""Client of the forker, the process that forks keepers."""

from __future__ import annotations

import atexit
import contextlib
import os
import random
import resource
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

from ostler.process.environment import build_child_environment
from ostler.process.keeper import tree
from ostler.process.process_state import resume_if_stopped
from ostler.process.stop_time import StopTimes

_PACKAGE_PARENT = str(Path(__file__).parent)
_START_CODE = "import sys; sys.path.insert(0, sys.argv.pop(1)); from keeper.forker import main; main()"
_NEW_KEEPER = 0


class ForkerClient:
    """Provides keepers; starts the forker on first use, and again if it was killed."""

    def __init__(self, package_parent: str = _PACKAGE_PARENT) -> None:
        self._package_parent = package_parent  # the directory that contains the package `keeper`
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._spare_keeper: socket.socket | None = None
        self.stop_times = StopTimes()
        self.token = _choose_token()
        self.command_line = b""  # of the forker and its keepers in /proc

    @property
    def pid(self) -> int:
        """The pid of the forker, 0 before the first start."""
        return self._process.pid if self._process else 0

    @property
    def running_pid(self) -> int:
        """The pid of the forker while it runs, else 0."""
        return self._process.pid if self._process and self._process.poll() is None else 0

    def take_keeper(self) -> socket.socket:
        """Return a non-blocking socket to a new keeper. Raises OSError when none can be forked."""
        keeper, self._spare_keeper = self._spare_keeper, None
        if keeper is None:
            return self._request_keeper()
        if _is_keeper_alive(keeper):
            return keeper
        keeper.close()
        return self._request_keeper()

    def prepare_keeper(self) -> None:
        """Request the next keeper in advance; errors are ignored."""
        if self._spare_keeper is None:
            with contextlib.suppress(OSError):
                self._spare_keeper = self._request_keeper()

    def watch_cleanup(self, keeper: int) -> socket.socket | None:
        """Return a socket that closes when all processes of a killed keeper are gone; None if the forker died
        too.
        """
        if self._process is None or self._process.poll() is not None:
            return None
        ours, theirs = socket.socketpair()
        with theirs:
            self._send(keeper, theirs)
        return ours

    def poll(self) -> None:
        """Update the state of the forker process."""
        if self._process:
            self._process.poll()

    def close(self) -> None:
        """Close the forker; it exits after its last keeper."""
        for end in (self._spare_keeper, self._socket):
            if end:
                end.close()
        if self._process:
            self._wait_for_exit(self._process)
        self._spare_keeper = self._socket = self._process = None

    def _wait_for_exit(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for the forker and its keepers; continue those that a signal has stopped."""
        while True:
            try:
                process.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                self.resume()
            else:
                return

    def resume(self) -> None:
        """Continue the forker and its keepers if a signal has stopped them, so that they can end."""
        if forker := self.running_pid:
            for pid in (forker, *tree.list_children(forker)):
                resume_if_stopped(pid)

    def _request_keeper(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            try:
                self._send(_NEW_KEEPER, theirs)
            except OSError:
                ours.close()
                raise
        return ours

    def _send(self, number: int, descriptor: socket.socket) -> None:
        record = number.to_bytes(8, "big")
        try:
            socket.send_fds(self._connect(), [record], [descriptor.fileno()])
        except ConnectionError:
            self._restart()
            socket.send_fds(self._connect(), [record], [descriptor.fileno()])

    def _restart(self) -> None:
        assert self._process
        self._wait_for_exit(self._process)
        self._process = None

    def _connect(self) -> socket.socket:
        if self._process is None or self._socket is None:
            self._socket, theirs = socket.socketpair()
            self._socket.setblocking(False)
            with theirs:
                self._process = self._start(theirs.fileno())
        return self._socket

    def _start(self, socket_fd: int) -> subprocess.Popen[bytes]:
        argv = [
            sys.executable,
            "-I",
            "-S",
            "-c",
            _START_CODE,
            self._package_parent,
            str(socket_fd),
            str(self.token),
        ]
        self.command_line = b"".join(os.fsencode(argument) + b"\0" for argument in argv)
        return subprocess.Popen(
            argv,
            # Every agent can read the variables of its keeper in /proc: they contain no secrets.
            env=build_child_environment(os.environ, (), {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(socket_fd,),
            start_new_session=True,
            cwd="/",
        )


@cache
def shared_forker() -> ForkerClient:
    """Return the forker client of this process."""
    forker = ForkerClient()
    # A stopped helper would outlive this process and keep what it holds.
    atexit.register(forker.resume)
    return forker


def _is_keeper_alive(peer: socket.socket) -> bool:
    """Return whether the keeper is still waiting: readable data is an end of file or an error."""
    try:
        peer.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    return False


def _choose_token() -> int:
    """Return a soft limit slightly below the current one, to recognise descendants of this forker."""
    if sys.platform != "linux":
        return 0
    soft = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[0]
    return max(0, (soft if soft > 0 else 819200) - random.SystemRandom().randrange(1, 8192))
