"""The run's side of the small process that forks keepers."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import socket
import subprocess
import sys
from functools import cache
from pathlib import Path

_HOME = str(Path(__file__).parent)
_PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop(1)); from keepers.forker import main; main()"
_NEW_KEEPER = 0


class Forker:
    """Gives out keepers. The small process starts on first use, and again when it was killed."""

    def __init__(self, home: str = _HOME) -> None:
        self._home = home  # the folder of the package `keepers`
        self._process: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None
        self._spare: socket.socket | None = None
        self.token = _choose_token()
        self.command_line = b""  # how the small process and its keepers look in a list of processes

    @property
    def pid(self) -> int:
        """The small process's pid, 0 before the first start."""
        return self._process.pid if self._process else 0

    def take_keeper(self) -> socket.socket:
        """A non-blocking socket to a keeper of one's own. Raises OSError when the machine has no room."""
        taken, self._spare = self._spare, None
        if taken is None:
            return self._request_keeper()
        if _is_idle(taken):
            return taken
        taken.close()
        return self._request_keeper()

    def prepare_keeper(self) -> None:
        """Have the next keeper forked while there is time; nothing is lost when this fails."""
        if self._spare is None:
            with contextlib.suppress(OSError):
                self._spare = self._request_keeper()

    def settle(self, keeper: int) -> socket.socket | None:
        """A socket that ends when a killed keeper's processes are gone; None when the forker died as well."""
        if self._process is None or self._process.poll() is not None:
            return None
        ours, theirs = socket.socketpair()
        with theirs:
            self._send(keeper, theirs)
        return ours

    def collect(self) -> None:
        """Take note when the small process has died."""
        if self._process:
            self._process.poll()

    def close(self) -> None:
        """End the small process, after the last keeper."""
        for end in (self._spare, self._door):
            if end:
                end.close()
        if self._process:
            self._process.wait()
        self._spare = self._door = self._process = None

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
            socket.send_fds(self._open_door(), [record], [descriptor.fileno()])
        except ConnectionError:
            self._restart()
            socket.send_fds(self._open_door(), [record], [descriptor.fileno()])

    def _restart(self) -> None:
        assert self._process
        self._process.wait()
        self._process = None

    def _open_door(self) -> socket.socket:
        if self._process is None or self._door is None:
            self._door, theirs = socket.socketpair()
            self._door.setblocking(False)
            with theirs:
                self._process = self._start(theirs.fileno())
        return self._door

    def _start(self, door: int) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-I", "-S", "-c", _PROGRAM, self._home, str(door), str(self.token)]
        self.command_line = b"".join(os.fsencode(word) + b"\0" for word in argv)
        return subprocess.Popen(
            argv,
            env={name: value for name, value in os.environ.items() if name != "OSTLER_ATTEMPT"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(door,),
            start_new_session=True,
            cwd="/",
        )


@cache
def shared_forker() -> Forker:
    """The one forker of this run."""
    return Forker()


def _is_idle(peer: socket.socket) -> bool:
    """An idle keeper says nothing: anything to read is its end, or its failure."""
    try:
        peer.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    return False


def _choose_token() -> int:
    """A soft limit that marks what came from this run's forker; a little under the present one."""
    if sys.platform != "linux":
        return 0
    soft = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[0]
    return max(0, (soft if soft > 0 else 819200) - random.SystemRandom().randrange(1, 8192))
