"""Processes that hang, ignore signals, or leave daemons behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from .everyday import begin, behave

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent

_FOREVER = 3600.0


def hangs_after_result(agent: FakeAgent) -> int:
    """Complete a turn, then do not exit."""
    status = behave(agent)
    time.sleep(_FOREVER)
    return status


def a1_hangs(agent: FakeAgent) -> int:
    """Work, then hang without a result."""
    begun = begin(agent)
    if not begun:
        agent.work()
        time.sleep(_FOREVER)
    return begun


def a2_ignores_term(agent: FakeAgent) -> int:
    """Hang, and ignore TERM, INT and HUP."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return a1_hangs(agent)


def a3_stops_itself(agent: FakeAgent) -> int:
    """Work, then stop itself with SIGSTOP."""
    begin(agent)
    agent.work()
    os.kill(os.getpid(), signal.SIGSTOP)
    return a1_hangs(agent)


def a4_daemons(agent: FakeAgent) -> int:
    """Leave behaviour["count"] daemons: double fork, own session, no environment, closed output."""
    for _ in range(agent["count"]):
        _daemon(agent, lambda: _beat(agent.beats))
    return behave(agent)


def a5_hops(agent: FakeAgent) -> int:
    """Leave processes that fork and exit forever, so that every list of pids is outdated."""
    for _ in range(min(agent["count"], 5)):
        _daemon(agent, lambda: _hop(agent.beats))
    return behave(agent)


def a7_child_keeps_stdout(agent: FakeAgent) -> int:
    """Exit, while a child keeps stdout open."""
    if os.fork() == 0:
        time.sleep(_FOREVER)
        os._exit(0)
    return behave(agent)


def _daemon(agent: FakeAgent, then: Callable[[], object]) -> None:
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    agent.record("daemon")
    for descriptor in range(3):
        os.close(descriptor)
    then()
    os._exit(0)


def _beat(beats: str) -> NoReturn:
    """Only this file shows that the daemon runs: its environment is empty, its directory is /."""
    os.chdir("/")
    os.execve("/bin/sh", ["sh", "-c", 'while :; do printf . >>"$0"; sleep 0.05; done', beats], {})  # noqa: S606


def _hop(beats: str) -> NoReturn:
    descriptor = os.open(beats, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    while True:
        if os.fork():
            os._exit(0)
        os.setsid()
        os.write(descriptor, b".")
        time.sleep(0.0005)
