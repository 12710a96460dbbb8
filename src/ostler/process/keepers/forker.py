"""The small process that forks one keeper per attempt.

Its arguments are a descriptor and a token. On that socket come records of eight bytes, each with
one descriptor: 0 asks for a keeper that talks on that descriptor; a keeper's pid asks to close the descriptor
when that keeper and all that it left are gone. The token is a soft limit on message queues: every process
below inherits it, so that the run can recognise what came from here.
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
from .bell import Bell, hang_bell
from .frames import encode, receive
from .oom import read_score, score_of_agents, write_score

RECORD_BYTES = 8


class Forker:
    """Which keepers are alive, and who waits for what a killed keeper left."""

    def __init__(self, door: socket.socket, score: bytes) -> None:
        self._door = door
        self._score = score  # of keepers, and so of agents
        self._open = True
        self._keepers: set[int] = set()
        self._strays = False  # a keeper was killed: its processes are ours now
        self._waiting: list[tuple[int, socket.socket]] = []
        self._bell = Bell()

    def run(self) -> None:
        """Serve until the run is gone, and then until the last keeper is."""
        poller = select.poll()
        poller.register(self._door, select.POLLIN)
        poller.register(self._bell, select.POLLIN)
        while self._open or self._keepers or self._strays:
            ready = {descriptor for descriptor, _ in poller.poll(5 if self._strays else None)}
            if self._bell.fileno() in ready:
                self._bell.clear()
            self._reap()
            if self._door.fileno() in ready and not self._serve():
                poller.unregister(self._door)
            self._settle()

    def _serve(self) -> bool:
        record, descriptors = receive(self._door, RECORD_BYTES, 1)
        self._open = bool(record)
        for descriptor in descriptors:
            self._answer(int.from_bytes(record, "big"), socket.socket(fileno=descriptor))
        return self._open

    def _answer(self, pid: int, peer: socket.socket) -> None:
        if pid:
            self._waiting.append((pid, peer))
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
            write_score(self._score)
            self._forget()
            keeper.keep(control)
            status = 0
        finally:
            os._exit(status)

    def _forget(self) -> None:
        """A keeper holds nothing of the forker's: an open end would hide that the other side died."""
        self._door.close()
        self._bell.close()
        for _, peer in self._waiting:
            peer.close()

    def _reap(self) -> None:
        """Collect ended keepers. One that did not end well has left its processes to us."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._strays |= pid in self._keepers and status != 0
            self._keepers.discard(pid)

    def _settle(self) -> None:
        if self._strays:
            self._strays = bool(tree.kill_below(os.getpid(), spare=self._keepers))
        if not self._strays:
            for pid, peer in self._waiting:
                if pid not in self._keepers:
                    peer.close()
            self._waiting = [(pid, peer) for pid, peer in self._waiting if pid in self._keepers]


def _rehearse(score: bytes) -> None:
    """Carry one attempt in this process: what Python writes on first use is then shared by all keepers."""
    write_score(score)
    ours, theirs = socket.socketpair()
    with ours, theirs, open(os.devnull, "r+b", buffering=0) as null:  # noqa: PTH123
        request = encode("/", 0, 0, 2, "/bin/sleep", "9", "NAME", "value")
        stop = encode(time.monotonic() + 0.001)
        socket.send_fds(ours, [request, stop], [null.fileno()] * 3)
        keeper.keep(theirs)


def main() -> None:
    """Take the place between the run and its agents."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    hang_bell()
    tree.become_subreaper()
    if sys.platform == "linux":
        hard = resource.getrlimit(resource.RLIMIT_MSGQUEUE)[1]
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (int(sys.argv[2]), hard))
    own = read_score()
    _rehearse(b"%d" % own)
    gc.freeze()
    gc.disable()
    Forker(socket.socket(fileno=int(sys.argv[1])), score_of_agents(own)).run()
