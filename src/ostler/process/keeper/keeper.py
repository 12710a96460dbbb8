"""A keeper: starts one program, stops its process tree, and exits when the tree is empty."""

from __future__ import annotations

import math
import os
import select
import socket
import sys
import time

from . import tree
from .boot_clock import read_boot_clock
from .frames import FrameDecoder, encode, receive
from .program import StartError, enter_directory, start_program
from .wakeup import Wakeup

KILL_PAUSE_SECONDS = 0.005  # between two rounds of SIGKILL
LEASE_CHECK_SECONDS = 1.0
ORPHAN_GRACE_SECONDS = 1.0  # after the run died
SUBREAPER = sys.platform == "linux"
_MAX_DESCRIPTORS = 64


def run_keeper(control: socket.socket) -> None:
    """Receive a request, start its program and wait until its last process is gone."""
    tree.become_subreaper()
    frames = FrameDecoder()
    if request := _receive_request(control, frames):
        keeper = Keeper(control, frames)
        keeper.run(request)
        keeper.close()


def _receive_request(control: socket.socket, frames: FrameDecoder) -> Request | None:
    """Return the request, or None if the run no longer needs this keeper."""
    descriptors: list[int] = []
    while True:
        data, received = receive(control, 65536, _MAX_DESCRIPTORS)
        descriptors += received
        for fields in frames.feed(data):
            return Request(fields, descriptors)
        if not data:
            return None


class Request:
    """The program to start. The first descriptors are for the program: its streams, then those that it gets
    as 3, 4, ...; the keeper only holds the others.
    """

    def __init__(self, fields: list[bytes], descriptors: list[int]) -> None:
        self.cwd, nice, pty, passed, count, *rest = fields
        self.nice, self.pty = int(nice), pty == b"1"
        self.argv, variables = rest[: int(count)], rest[int(count) :]
        self.env = dict(zip(variables[::2], variables[1::2], strict=True))
        own = 3 + int(passed)
        self.descriptors, self.held = descriptors[:own], descriptors[own:]


class Keeper:
    """The state of one program: its main process, its deadline and the processes that had to be stopped."""

    def __init__(self, control: socket.socket, frames: FrameDecoder) -> None:
        self._control = control
        self._frames = frames
        self._main = 0
        self._exited = False
        self._kill_at = math.inf
        self._lease_until = math.inf  # when everything is killed, unless the run extends this; inf: never
        self._leftovers: set[int] = set()
        self._wakeup = Wakeup()

    def run(self, request: Request) -> None:
        """Start the program and wait until its last process is gone."""
        if not self._start(request):
            return
        self._apply_commands(b"")  # commands that arrived together with the request
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        poller.register(self._wakeup, select.POLLIN)
        while not self._reap():
            self._kill_when_due()
            ready = {descriptor for descriptor, _ in poller.poll(self._compute_poll_timeout_ms())}
            if self._wakeup.fileno() in ready:
                self._wakeup.clear()
            if self._control.fileno() in ready and not self._receive_command():
                poller.unregister(self._control)

    def close(self) -> None:
        self._wakeup.close()

    def _start(self, request: Request) -> bool:
        try:
            enter_directory(request.cwd)
            self._main = start_program(request.argv, request.env, request.descriptors, pty=request.pty)
        except StartError as failure:
            self._report(encode("failed", failure.errno, failure.step))
            return False
        if request.nice:
            _lower_priority(self._main, request.nice)
        enter_directory(b"/")
        for descriptor in request.descriptors:
            os.close(descriptor)
        self._report(encode("started", self._main, os.getpid()))
        return True

    def _reap(self) -> bool:
        """Collect exited processes and report them; return True when none is left."""
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
                    tree.kill_group(self._main)  # without a subreaper this is the last chance to reach them
                exits += encode("exited", os.waitstatus_to_exitcode(status), used.ru_maxrss)
        self._report(exits)
        return not left

    def _receive_command(self) -> bool:
        """Apply commands of the run, or stop everything if the run died; return False at the end of file."""
        try:
            data = self._control.recv(65536)
        except ConnectionError:
            data = b""
        self._apply_commands(data)
        if not data:
            self._stop(time.monotonic() + ORPHAN_GRACE_SECONDS)
        return bool(data)

    def _apply_commands(self, data: bytes) -> None:
        for fields in self._frames.feed(data):
            match fields:
                case [b"lease", until]:
                    self._lease_until = float(until)
                case _:
                    self._stop(float(fields[0]))

    def _stop(self, kill_at: float) -> None:
        """Send SIGTERM once; a second call can only move the time of SIGKILL forward."""
        first = self._kill_at == math.inf
        self._kill_at = min(self._kill_at, kill_at)
        if not first:
            return
        if self._exited:
            self._leftovers.update(tree.list_descendants(os.getpid()))
        if time.monotonic() < kill_at:
            tree.terminate_descendants(os.getpid(), self._list_unlisted())

    def _kill_when_due(self) -> None:
        if self._lease_until < math.inf and read_boot_clock() >= self._lease_until:
            self._stop(time.monotonic())
        if time.monotonic() < self._kill_at:
            return
        killed = tree.kill_descendants(os.getpid(), extra=self._list_unlisted())
        if self._exited:
            self._leftovers |= killed

    def _list_unlisted(self) -> tuple[int, ...]:
        """Return the main process where children cannot be listed: only its group can be reached."""
        return () if SUBREAPER or self._exited else (self._main,)

    def _compute_poll_timeout_ms(self) -> float | None:
        if self._kill_at < math.inf:
            return 1000 * max(KILL_PAUSE_SECONDS, self._kill_at - time.monotonic())
        if self._lease_until < math.inf:
            # A poll does not count the time in which the machine was suspended; the lease does.
            left = min(LEASE_CHECK_SECONDS, self._lease_until - read_boot_clock())
            return 1000 * max(KILL_PAUSE_SECONDS, left)
        return None

    def _report(self, messages: bytes) -> None:
        try:
            self._control.sendall(messages)
        except ConnectionError:
            return  # the run died; the end of file is handled too


def _lower_priority(main: int, nice: int) -> None:
    try:
        os.setpriority(os.PRIO_PGRP, main, os.getpriority(os.PRIO_PROCESS, 0) + nice)
    except (PermissionError, ProcessLookupError):
        return  # no permission, or the program exited already
