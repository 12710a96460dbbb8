"""The process that forks one keeper per started program.

Its arguments are a socket descriptor and a token. The socket receives records of eight bytes, each with one
descriptor. Record 0 requests a keeper that is controlled through that descriptor. A keeper's pid requests
that the descriptor is closed when that keeper and all processes it left are gone. The token is set as the
soft limit on message queues: all descendants inherit it, so that the run can recognise them.
"""

from __future__ import annotations

import gc
import os
import resource
import select
import signal
import socket
import sys
import time

from . import keeper, tree
from .frames import encode, receive
from .wakeup import Wakeup, install_wakeup_handler

RECORD_BYTES = 8
_OWN_SCORE = "/proc/self/oom_score_adj"
_AGENT_SCORE = 500
_SCORE_STEP, _MAX_SCORE = 100, 1000


class Forker:
    """Forks keepers and kills the processes that a killed keeper left."""

    def __init__(self, control_socket: socket.socket, score: bytes) -> None:
        self._socket = control_socket
        self._agent_score = score  # OOM score of keepers and agents
        self._open = True
        self._keepers: set[int] = set()
        self._has_orphans = False  # a keeper was killed and its processes are now our children
        self._cleanup_waiters: list[tuple[int, socket.socket]] = []
        self._wakeup = Wakeup()

    def run(self) -> None:
        """Serve requests until the run is gone and the last keeper exited."""
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        poller.register(self._wakeup, select.POLLIN)
        while self._open or self._keepers or self._has_orphans:
            ready = {descriptor for descriptor, _ in poller.poll(5 if self._has_orphans else None)}
            if self._wakeup.fileno() in ready:
                self._wakeup.clear()
            self._reap()
            if self._socket.fileno() in ready and not self._serve():
                poller.unregister(self._socket)
            self._kill_orphans()

    def _serve(self) -> bool:
        record, descriptors = receive(self._socket, RECORD_BYTES, 1)
        self._open = bool(record)
        for descriptor in descriptors:
            self._handle_request(int.from_bytes(record, "big"), socket.socket(fileno=descriptor))
        return self._open

    def _handle_request(self, pid: int, peer: socket.socket) -> None:
        if pid:
            self._cleanup_waiters.append((pid, peer))
            return
        with peer:
            self._fork(peer)

    def _fork(self, control: socket.socket) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            control.sendall(encode("failed", error.errno or 0, "fork"))
            return
        if pid:
            self._keepers.add(pid)
        else:
            self._become_keeper(control)

    def _become_keeper(self, control: socket.socket) -> None:
        status = 1
        try:
            os.setsid()
            write_score(self._agent_score)
            self._close_forker_sockets()
            keeper.run_keeper(control)
            status = 0
        finally:
            os._exit(status)

    def _close_forker_sockets(self) -> None:
        """Close inherited sockets; an open end in a keeper would hide that the other side died."""
        self._socket.close()
        self._wakeup.close()
        for _, peer in self._cleanup_waiters:
            peer.close()

    def _reap(self) -> None:
        """Collect exited keepers; the processes of a keeper that failed are now our children."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._has_orphans |= pid in self._keepers and status != 0
            self._keepers.discard(pid)

    def _kill_orphans(self) -> None:
        if self._has_orphans:
            self._has_orphans = bool(tree.kill_descendants(os.getpid(), exclude=self._keepers))
        if not self._has_orphans:
            for pid, peer in self._cleanup_waiters:
                if pid not in self._keepers:
                    peer.close()
            self._cleanup_waiters = [
                (pid, peer) for pid, peer in self._cleanup_waiters if pid in self._keepers
            ]


def _warm_up(score: bytes) -> None:
    """Run one program in this process, so that memory that Python writes on first use is shared by all
    keepers.
    """
    write_score(score)
    ours, theirs = socket.socketpair()
    with ours, theirs, open(os.devnull, "r+b", buffering=0) as null:  # noqa: PTH123
        request = encode("/", 0, 0, 0, 2, "/bin/sleep", "9", "NAME", "value")
        stop = encode(time.monotonic() + 0.001)
        socket.send_fds(ours, [request, stop], [null.fileno()] * 3)
        keeper.run_keeper(theirs)


def read_score() -> int:
    """Return the OOM score of this process, or 0 if it cannot be read."""
    try:
        with open(_OWN_SCORE, "rb", buffering=0) as file:  # noqa: PTH123
            return int(file.readall())
    except OSError:
        return 0


def compute_agent_score(own: int) -> bytes:
    """Return a score that makes the kernel kill an agent before the run."""
    return b"%d" % min(_MAX_SCORE, max(_AGENT_SCORE, own + _SCORE_STEP))


def write_score(score: bytes) -> None:
    """Set the score of this process and of all processes that it starts."""
    try:
        descriptor = os.open(_OWN_SCORE, os.O_WRONLY)
        os.write(descriptor, score)
        os.close(descriptor)
    except OSError:
        return  # without /proc or permission, the kernel decides by memory size


def main() -> None:
    """Run the forker."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    install_wakeup_handler()
    tree.become_subreaper()
    if sys.platform == "linux":
        hard = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[1]
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (int(sys.argv[2]), hard))
    own = read_score()
    _warm_up(b"%d" % own)
    gc.freeze()
    gc.disable()
    Forker(socket.socket(fileno=int(sys.argv[1])), compute_agent_score(own)).run()
