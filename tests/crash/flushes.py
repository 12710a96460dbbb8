"""Checks with system calls that a fact is on the disk before it is reported."""

from __future__ import annotations

import re

from nemesis import run_traced
from world import World

CALLS = ["-s", "200", "-e", "trace=write,pwrite64,fsync,fdatasync,rename,renameat,renameat2,linkat"]
NAMES = ["-s", "400", "-e", "trace=write,mkdir,mkdirat,fsync,syncfs,sync"]


def check_task_is_flushed(world: World) -> None:
    """submit: the last write to the journal is followed by a flush, and only then by the id on stdout."""
    world.new("The journal is there")
    done, trace = run_traced(world, CALLS, "new", "First")
    _check_flushed_before(trace, done.stdout.strip())


def check_end_is_flushed(world: World) -> None:
    """complete: the same, for the line that reports it."""
    world.new("First")
    _, trace = run_traced(world, CALLS, "run", "--all", "--json")
    _check_flushed_before(trace, "task_completed")


def check_new_journal_is_flushed(world: World) -> None:
    """The first `new` flushes the file, gives it its name and flushes the directory, in this order."""
    _, trace = run_traced(world, CALLS, "new", "First")
    named = next(place for place, line in enumerate(trace) if re.search(r'linkat\(.*"ostler\.db"', line))
    files = [line for line in trace[:named] if ".tmp>" in line]
    assert "fsync(" in files[-1], files[-2:]
    assert any(re.search(r"fsync\(\d+<.*/\.git/ostler>", line) for line in trace[named:])


def check_new_directory_is_flushed(world: World) -> None:
    """The first `new` flushes the directory that gets the new name `.ostler` before it prints the id."""
    done, trace = run_traced(world, NAMES, "new", "First")
    printed = next(
        place for place, line in enumerate(trace) if "write(1<" in line and done.stdout.strip() in line
    )
    made = next(place for place, line in enumerate(trace) if re.search(r'mkdir.*/\.ostler"', line))
    flushed = rf"fsync\(\d+<{re.escape(str(world.root))}>\)|syncfs\(|sync\(\)"
    assert any(re.search(flushed, line) for line in trace[made:printed]), trace[made:printed]


def _check_flushed_before(trace: list[str], word: str) -> None:
    """Nothing was written to the log between its last flush and the text on stdout."""
    reported = next(place for place, line in enumerate(trace) if "write(1<" in line and word in line)
    log = [line for line in trace[:reported] if "ostler.db-wal>" in line]
    assert any("pwrite64(" in line for line in log)
    assert "fdatasync(" in log[-1], log[-3:]
