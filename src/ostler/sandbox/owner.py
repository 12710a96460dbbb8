"""Names of groups and containers that show which run made them, so that those of dead runs can be removed."""

from __future__ import annotations

import itertools
import os
import re
from functools import cache
from pathlib import Path

_PREFIX = "ostler-"
_NAME = re.compile(r"ostler-(?P<boot>[0-9a-f]*)-(?P<space>\d+)-(?P<pid>\d+)-(?P<started>\d+)-\d+-")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 80
_BOOT_LENGTH = 8
_numbers = itertools.count(1)


def create_name(what: str) -> str:
    """Return a new name for something of this run, such as of an attempt."""
    return f"{_PREFIX}{_name_process(os.getpid())}-{next(_numbers)}-{_UNSAFE.sub('-', what)[:_LONGEST]}"


@cache
def _name_process(own: int) -> str:
    """Return the part of a name that stays the same in this process; `own` is its pid."""
    return f"{_read_boot()}-{_read_pid_space()}-{own}-{_read_start(own)}"


def is_of_dead_run(name: str) -> bool:
    """Return whether the run that made this name has ended; False for names of others and in doubt."""
    found = _NAME.match(name)
    if found is None:
        return False
    if found["boot"] != _read_boot():
        return True
    # The processes of another pid namespace have other numbers.
    is_known = int(found["space"]) == _read_pid_space()
    return is_known and _read_start(int(found["pid"])) != int(found["started"])


def _read_boot() -> str:
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        return ""
    return text[:_BOOT_LENGTH]


def _read_pid_space() -> int:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


def _read_start(pid: int) -> int:
    """Return the time when the process started, in ticks since the boot; 0 if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    return int(text.rpartition(b")")[2].split()[19])
