"""Faults of a machine: small and read-only disks, refused system calls, terminals that close."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from world import World

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")

Done = subprocess.CompletedProcess[str]


def run_under(world: World, prefix: list[str], *args: str, **environ: str) -> Done:
    """Run `ostler` under another program that changes its environment; no traceback may be printed."""
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "ostler", *args],
        cwd=world.root,
        env=world.environ | environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done


def run_traced(world: World, options: list[str], *args: str) -> tuple[Done, list[str]]:
    """The same under strace, with the paths of all descriptors in its log."""
    log = world.root.parent / "trace.txt"
    done = run_under(world, ["strace", "-f", "-y", "-o", str(log), *options], *args)
    return done, join_resumed(log.read_text(errors="replace").splitlines())


def join_resumed(trace: list[str]) -> list[str]:
    """Join the two lines of a call during which another process ran: arguments and result in one."""
    begun: dict[str, str] = {}
    joined: list[str] = []
    for line in trace:
        process, _, text = line.partition(" ")
        if text.endswith(" <unfinished ...>"):
            begun[process] = line.removesuffix(" <unfinished ...>")
        elif text.lstrip().startswith("<... ") and process in begun:
            joined.append(begun.pop(process) + text.partition(" resumed>")[2])
        else:
            joined.append(line)
    return [*joined, *begun.values()]


def check_refusal(done: Done, exit_code: int, code: str, place: str) -> None:
    """One sentence that names the path and one next step; the same as JSON when requested."""
    printed = f"{done.returncode}\n{done.stdout[-2000:]}\n{done.stderr}"
    assert done.returncode == exit_code, printed
    sentence, *steps = [line for line in done.stderr.splitlines() if line]
    assert sentence.startswith("ostler: ") and place in sentence, printed
    assert len(steps) == 1 and steps[0].startswith("        "), printed
    if "ostler.error/1" in done.stdout:
        assert json.loads(done.stdout.splitlines()[-1])["code"] == code, printed


@contextlib.contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A separate disk for this directory."""
    place.mkdir()
    with _mounted(["-t", "tmpfs", "-o", f"size={size}", "ostler-test"], place):
        yield place


def fill(disk: Path, left: int) -> Path:
    """Create a file that takes all but so many bytes of a disk."""
    filler = disk / "filler"
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    filler.write_bytes(bytes(max(0, free - left)))
    return filler


@contextlib.contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Make everything below this directory read-only, also for root."""
    with _mounted(["--bind", str(place)], place):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
        yield


@contextlib.contextmanager
def _mounted(what: list[str], place: Path) -> Iterator[None]:
    subprocess.run(["mount", *what, str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


class Terminal:
    """A run in its own terminal window, which can be closed."""

    def __init__(self, world: World, before: str, *args: str) -> None:
        self._master, slave = pty.openpty()
        self._errors = (world.root.parent / "terminal.txt").open("wb+")
        # A session leader that opens a terminal gets it as its controlling one.
        start = f'{before} exec "$@" <{os.ttyname(slave)} >{os.ttyname(slave)}'
        self.run = subprocess.Popen(
            ["sh", "-c", start, "sh", sys.executable, "-m", "ostler", *args],
            cwd=world.root,
            env=world.environ | {"TERM": "xterm"},
            stderr=self._errors,
            start_new_session=True,
        )
        self._slave = slave  # kept until the run has opened it

    def close(self) -> None:
        """Close it as a window manager does: the run gets a hang-up, and EIO from then on."""
        os.close(self._slave)
        os.close(self._master)

    def end(self) -> tuple[int, str]:
        """Wait; return the exit code and stderr."""
        code = self.run.wait(30)
        self._errors.seek(0)
        printed = self._errors.read().decode()
        self._errors.close()
        return code, printed
