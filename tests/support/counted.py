"""Counts what a command does, from its system calls: git processes, commits, flushes and renames.

Load cannot blur a count. Only the calls of Ostler's own processes are counted: an agent and git do as they
like, except that a git process is counted as one.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

TRACED = (
    "execve,fork,vfork,clone,clone3,fsync,fdatasync,syncfs,sync,sync_file_range,rename,renameat,renameat2"
)
_FLUSHES = ("fsync", "fdatasync", "syncfs", "sync")
_EXECUTED = re.compile(r'execve\("([^"]*)", \[(.*)\], .*\)\s+= 0$')
_ARGUMENT = re.compile(r'"((?:[^"\\]|\\.)*)"')
_FORKED = re.compile(r"(?:clone3?|v?fork)\(.*\)\s+= (\d+)$")
_CALLED = re.compile(r"(\w+)\((.*)\)\s+= 0$")
_OBJECT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_JOURNAL = re.compile(r"ostler\.db(-wal|-shm)?>")


class Counts(NamedTuple):
    """What Ostler did in one or several commands."""

    git: Counter[str]  # the command and its first option of each git process
    starts: int  # programs that were executed, with git and the agents
    commits: int  # flushes of the journal: each ends a durable transaction
    flushes: Counter[str]  # other flushes by Ostler
    git_flushes: int
    renames: int

    @property
    def git_processes(self) -> int:
        return self.git.total()

    @property
    def all_flushes(self) -> int:
        return self.flushes.total()

    def since(self, other: Counts) -> Counts:
        """Return what this one did more than another."""
        git, flushes = self.git.copy(), self.flushes.copy()
        git.subtract(other.git)
        flushes.subtract(other.flushes)
        return Counts(
            Counter({name: count for name, count in git.items() if count}),
            self.starts - other.starts,
            self.commits - other.commits,
            Counter({name: count for name, count in flushes.items() if count}),
            self.git_flushes - other.git_flushes,
            self.renames - other.renames,
        )

    def describe(self) -> str:
        """Return one line, as a benchmark prints it beside a time."""
        return (
            f"{self.git_processes} git, {self.commits} commits, {self.all_flushes} flushes,"
            f" {self.renames} renames, {self.starts} starts"
        )


def count_run(
    arguments: Iterable[str], cwd: Path, environ: Mapping[str, str], log: Path
) -> tuple[Counts, subprocess.CompletedProcess[str]]:
    """Run `ostler` with these arguments and count."""
    return count_program((sys.executable, "-m", "ostler", *arguments), cwd, environ, log)


def count_program(
    argv: Iterable[str], cwd: Path, environ: Mapping[str, str], log: Path
) -> tuple[Counts, subprocess.CompletedProcess[str]]:
    """Run a program under strace and count."""
    traced = ("-e", "signal=none", "-e", f"trace={TRACED}")
    strace = ("strace", "-f", "-y", "-qq", "--seccomp-bpf", "-s", "400", "-o", str(log), *traced)
    done = subprocess.run(
        [*strace, *argv],
        cwd=cwd,
        # Python would write compiled modules by renames.
        env={**environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    return count(log.read_text(errors="replace").splitlines()), done


def count(trace: Iterable[str]) -> Counts:
    """Count in the lines of a log of strace."""
    programs: dict[str, str] = {}  # by process; a forked one is its parent's until it executes another
    git: Counter[str] = Counter()
    flushes: Counter[str] = Counter()
    starts = commits = git_flushes = renames = 0
    first = ""
    for process, text in _join_resumed(trace):
        first = first or process
        program = programs.get(process, "ostler")
        if executed := _EXECUTED.match(text):
            is_first, programs[process] = process == first and not starts, os.path.basename(executed[1])
            starts += 1
            if is_first:
                programs[process] = "ostler"
            elif programs[process] == "git":
                git[_name(_ARGUMENT.findall(executed[2]))] += 1
            elif text.startswith(f'execve("{sys.executable}"') and _is_own(executed[2]):
                programs[process] = "ostler"
        elif forked := _FORKED.match(text):
            programs.setdefault(forked[1], program)
        elif (called := _CALLED.match(text)) is None:
            continue
        elif program == "git":
            git_flushes += called[1] in _FLUSHES
        elif program != "ostler":
            continue
        elif called[1] in _FLUSHES and _JOURNAL.search(called[2]):
            commits += "-wal>" in called[2]
        elif called[1] in _FLUSHES:
            flushes[called[1]] += 1
        elif called[1].startswith("rename"):
            renames += 1
    return Counts(git, starts, commits, flushes, git_flushes, renames)


def _is_own(arguments: str) -> bool:
    """Return whether the arguments start a program of Ostler, such as the one that forks keepers."""
    return "ostler" in arguments


def _name(arguments: list[str]) -> str:
    """Return the command of a git process and its first argument, without names of objects."""
    return " ".join(word for word in arguments[1:3] if not _OBJECT.fullmatch(word))


def _join_resumed(trace: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Yield process and call; one during which another process ran is on two lines."""
    begun: dict[str, str] = {}
    for line in trace:
        process, _, text = line.partition(" ")
        text = text.strip()
        if text.endswith("<unfinished ...>"):
            begun[process] = text.removesuffix("<unfinished ...>")
        elif text.startswith("<... ") and process in begun:
            yield process, begun.pop(process) + text.partition("resumed>")[2].lstrip()
        else:
            yield process, text
