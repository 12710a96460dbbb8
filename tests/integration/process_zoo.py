"""Hostile programs, and a check from outside that they are gone."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import uuid
from pathlib import Path

import psutil

from ostler.model.command import Command

KINDS = (
    "obedient",
    "stubborn",
    "stopped",
    "daemons",
    "hopper",
    "session_hopper",
    "bare_hopper",
    "bare_daemon",
)

_PROGRAM = r"""
import os, signal, sys, time
kind, folder, token, stays, count = sys.argv[1:]

def beat():
    with open(folder + "/beats", "a") as file:
        file.write(".")

def record():
    born = open("/proc/self/stat").read().rpartition(")")[2].split()[19]
    open(f"{folder}/{os.getpid()}-{born}.pid", "w").close()

def idle():
    while True:
        time.sleep(0.01)
        beat()

def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            record()
            idle()
        os._exit(0)
    os.wait()

def hop(new_session):
    if os.fork():
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        if new_session:
            os.setsid()
        beat()
        time.sleep(0.0005)
        if os.fork():
            os._exit(0)

def again_without_environment(name):
    if os.fork() == 0:
        script = [sys.argv[0], name, folder, token, "go", "1"]
        os.execve(sys.executable, [sys.executable, "-S", "-E", *script], {})

def await_records(wanted):
    while sum(name.endswith(".pid") for name in os.listdir(folder)) < wanted:
        time.sleep(0.002)

def await_beats():
    while not os.path.exists(folder + "/beats") or os.path.getsize(folder + "/beats") < 3:
        time.sleep(0.002)

if kind == "stubborn":
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
elif kind == "daemons":
    for _ in range(int(count)):
        daemon()
    await_records(int(count))
elif kind == "hopper":
    for _ in range(3):
        hop(False)
    await_beats()
elif kind == "session_hopper":
    for _ in range(3):
        hop(True)
    await_beats()
elif kind == "bare_hopper":
    again_without_environment("session_hopper")
    await_beats()
elif kind == "bare_daemon":
    again_without_environment("daemons")
    await_records(1)
elif kind == "keeps_stdout":
    if os.fork() == 0:
        record()
        idle()
    await_records(1)

record()
if "OSTLER_ATTEMPT" in os.environ:
    with open(folder + "/main", "w") as file:
        file.write(str(os.getpid()))
    print("ready", flush=True)
if kind == "stopped":
    os.kill(os.getpid(), signal.SIGSTOP)
if stays == "stay":
    idle()
"""


class Hostile:
    """One hostile program with its own folder, observed only from outside."""

    def __init__(self, folder: Path, kind: str, *, stays: bool, count: int = 10) -> None:
        self.folder = folder
        self.token = f"zoo-{uuid.uuid4().hex}"
        self.script = folder / "hostile.py"
        self.script.write_text(_PROGRAM)
        self.argv = (
            sys.executable,
            *("-S", "-E"),
            *(str(self.script), kind, str(folder), self.token),
            "stay" if stays else "go",
            str(count),
        )

    def command(self, **changes: object) -> Command:
        """The program as a Command, with short deadlines."""
        env = {"PATH": os.environ["PATH"], "OSTLER_ATTEMPT": f"zoo:{self.token}:1"}
        values = {"argv": self.argv, "cwd": str(self.folder), "env": env, "grace_seconds": 0.2, **changes}
        return Command(**values)

    def main(self) -> psutil.Process:
        """The main process; its parent is the keeper."""
        return psutil.Process(int((self.folder / "main").read_text()))

    def alive(self) -> list[str]:
        """Return the remaining processes, found by token, by recorded pid and by heartbeat."""
        found = [f"token {process.pid}" for process in self._with_token()]
        found += [f"pid {path.stem}" for path in self.folder.glob("*.pid") if lives(path.stem)]
        return found + (["beats"] if self._beats() else [])

    def alive_within(self, seconds: float) -> list[str]:
        """Return the processes that remain after at most this time."""
        deadline = time.monotonic() + seconds
        while (found := self.alive()) and time.monotonic() < deadline:
            time.sleep(0.02)
        return found

    def kill_all(self) -> None:
        """End all processes of a test that lets them survive, those that change their pid too."""
        while found := self._with_token():
            for process in found:
                with contextlib.suppress(psutil.Error, ProcessLookupError):
                    group = os.getpgid(process.pid)
                    if group != os.getpgrp():
                        os.killpg(group, signal.SIGKILL)
                    process.kill()

    def _with_token(self) -> list[psutil.Process]:
        return [
            process
            for process in psutil.process_iter()
            if process.pid != os.getpid() and self._is_mine(process)
        ]

    def _is_mine(self, process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error):
            return process.status() != psutil.STATUS_ZOMBIE and self.token in process.cmdline()
        return False

    def _beats(self) -> bool:
        beats = self.folder / "beats"
        before = beats.stat().st_size if beats.exists() else 0
        time.sleep(0.05)
        return (beats.stat().st_size if beats.exists() else 0) != before


def lives(born: str) -> bool:
    """Return whether the process of this pid and start time runs; hoppers soon reuse every pid."""
    number, _, birth = born.partition("-")
    try:
        state, *rest = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return rest[18] == birth and state not in "ZX"
