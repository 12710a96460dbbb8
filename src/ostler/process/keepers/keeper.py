"""One keeper: starts one agent, reports its exit, stops its tree, and ends when nothing of it is left."""

from __future__ import annotations

import math
import os
import select
import socket
import sys
import time

from . import tree
from .bell import Bell
from .frames import Frames, encode, receive
from .program import StartFailed, enter, start_program

ROUND_SECONDS = 0.005  # between two rounds of killing
ORPHAN_GRACE_SECONDS = 1.0  # the run died: nobody is left to say how long
SUBREAPER = sys.platform == "linux"
_MOST_DESCRIPTORS = 64


def keep(control: socket.socket) -> None:
    """Carry one attempt from its request to the last of its processes."""
    tree.become_subreaper()
    frames = Frames()
    if request := _receive(control, frames):
        kept = Keeper(control, frames)
        kept.run(request)
        kept.close()


def _receive(control: socket.socket, frames: Frames) -> Request | None:
    """The one request; None when the run needed this keeper no more."""
    descriptors: list[int] = []
    while True:
        data, received = receive(control, 65536, _MOST_DESCRIPTORS)
        descriptors += received
        for words in frames.feed(data):
            return Request(words, descriptors)
        if not data:
            return None


class Request:
    """What to start. Beyond the agent's own three descriptors come those that only the keeper holds."""

    def __init__(self, words: list[bytes], descriptors: list[int]) -> None:
        self.cwd, nice, pty, count, *rest = words
        self.nice, self.pty = int(nice), pty == b"1"
        self.argv, variables = rest[: int(count)], rest[int(count) :]
        self.env = dict(zip(variables[::2], variables[1::2], strict=True))
        self.descriptors, self.held = descriptors[:3], descriptors[3:]


class Keeper:
    """What one attempt is at: its main process, its deadline, who had to be stopped."""

    def __init__(self, control: socket.socket, frames: Frames) -> None:
        self._control = control
        self._frames = frames
        self._main = 0
        self._exited = False
        self._kill_at = math.inf
        self._leftovers: set[int] = set()
        self._bell = Bell()

    def run(self, request: Request) -> None:
        """The whole life of the keeper."""
        if not self._start(request):
            return
        self._obey(b"")  # what came together with the request
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        poller.register(self._bell, select.POLLIN)
        while not self._reap():
            self._kill_when_due()
            ready = {descriptor for descriptor, _ in poller.poll(self._patience_ms())}
            if self._bell.fileno() in ready:
                self._bell.clear()
            if self._control.fileno() in ready and not self._listen():
                poller.unregister(self._control)

    def close(self) -> None:
        self._bell.close()

    def _start(self, request: Request) -> bool:
        try:
            enter(request.cwd)
            self._main = start_program(request.argv, request.env, request.descriptors, pty=request.pty)
        except StartFailed as failure:
            self._report(encode("failed", failure.errno, failure.step))
            return False
        if request.nice:
            _be_nice(self._main, request.nice)
        enter(b"/")
        for descriptor in request.descriptors:
            os.close(descriptor)
        self._report(encode("started", self._main, os.getpid()))
        return True

    def _reap(self) -> bool:
        """Collect the dead; True when nothing is left. The main one's exit is reported at once."""
        exits = b""
        left = True
        while left:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                exits += encode("gone", len(self._leftovers))
                left = False
                continue
            if pid == 0:
                break
            if pid == self._main:
                self._exited = True
                if not SUBREAPER:
                    tree.kill_group(self._main)  # what it left will never be ours: now or never
                exits += encode("exited", os.waitstatus_to_exitcode(status), used.ru_maxrss)
        self._report(exits)
        return not left

    def _listen(self) -> bool:
        """Act on what the run asks; its end of file means that it died. False when nothing more will come."""
        try:
            data = self._control.recv(65536)
        except ConnectionError:
            data = b""
        self._obey(data)
        if not data:
            self._stop(time.monotonic() + ORPHAN_GRACE_SECONDS)
        return bool(data)

    def _obey(self, data: bytes) -> None:
        for (kill_at,) in self._frames.feed(data):
            self._stop(float(kill_at))

    def _stop(self, kill_at: float) -> None:
        """Ask all to end, once; a second request can only bring the killing forward."""
        first = self._kill_at == math.inf
        self._kill_at = min(self._kill_at, kill_at)
        if not first:
            return
        if self._exited:
            self._leftovers.update(tree.descendants_of(os.getpid()))
        if time.monotonic() < kill_at:
            tree.terminate_below(os.getpid(), self._unlisted())

    def _kill_when_due(self) -> None:
        if time.monotonic() < self._kill_at:
            return
        killed = tree.kill_below(os.getpid(), also=self._unlisted())
        if self._exited:
            self._leftovers |= killed

    def _unlisted(self) -> tuple[int, ...]:
        """Where no list of children can be read, the main process's group is all that we know of."""
        return () if SUBREAPER or self._exited else (self._main,)

    def _patience_ms(self) -> float | None:
        if self._kill_at == math.inf:
            return None
        return 1000 * max(ROUND_SECONDS, self._kill_at - time.monotonic())

    def _report(self, messages: bytes) -> None:
        try:
            self._control.sendall(messages)
        except ConnectionError:
            return  # the run died; the end of file says so too


def _be_nice(main: int, nice: int) -> None:
    try:
        os.setpriority(os.PRIO_PGRP, main, os.getpriority(os.PRIO_PROCESS, 0) + nice)
    except (PermissionError, ProcessLookupError):
        return  # lowering needs a privilege; a short program may have ended
