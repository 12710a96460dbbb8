"""Finds the attempt that this process belongs to, from its environment and its parent processes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ostler.errors import UsageError
from ostler.model.policy.sandbox import TIER_VARIABLE

SHELL_VARIABLE = "OSTLER_SHELL"
"""Set with OSTLER_TASK in the shell of a person (`ostler shell`), who may decide about tasks there."""

_PARENT = re.compile(rb"^PPid:\s*(\d+)$", re.MULTILINE)
_UNSET = "unset OSTLER_TASK and OSTLER_ATTEMPT: only Ostler sets them, for its agents"


class CurrentAttempt(Struct, frozen=True):
    task: str
    attempt: int


def require_person(current: CurrentAttempt | None, what: str) -> None:
    """Raise inside a task: an agent must not do what a person decides."""
    if current is not None:
        raise UsageError(
            f"this process runs inside task {current.task}: only a person can {what}",
            "an agent can use ostler report, ostler new and the commands that only read",
        )


def find_current_attempt(environ: Mapping[str, str], root: Path | None) -> CurrentAttempt | None:
    """Return the attempt that this process belongs to, or None; raises UsageError for forged variables.

    Many agents start their tools without their own environment, so the parent processes that work on the
    project at `root` are read too. A process below an agent is never assigned to another attempt.
    """
    found = {mark for marks in (environ, *_parent_environments(root)) if (mark := _parse_variables(marks))}
    if len(found) > 1:
        names = " and ".join(sorted(f"attempt {one.attempt} of {one.task}" for one in found))
        raise UsageError(f"this process claims to belong to {names}", _UNSET)
    return next(iter(found), None)


def find_sandbox_variables(environ: Mapping[str, str], root: Path | None) -> Mapping[str, str] | None:
    """Return the variables of the attempt if this process runs in its sandbox; None outside a sandbox."""
    if environ.get(TIER_VARIABLE) and environ.get("OSTLER_TASK"):
        return environ
    return next((one for one in _parent_environments(root) if one.get(TIER_VARIABLE)), None)


def _parse_variables(marks: Mapping[str, str]) -> CurrentAttempt | None:
    task = marks.get("OSTLER_TASK", "")
    if not task or (marks.get(SHELL_VARIABLE) == task and "OSTLER_ATTEMPT" not in marks):
        return None
    owner, _, number = marks.get("OSTLER_ATTEMPT", "").rpartition(":")
    if not number.isdecimal() or owner.rpartition(":")[2] != task:
        raise UsageError(f"OSTLER_ATTEMPT is not an attempt of {task}", _UNSET)
    return CurrentAttempt(task, int(number))


def _parent_environments(root: Path | None) -> Iterator[Mapping[str, str]]:
    """Yield the environments of the parent processes that work on this project."""
    read = _read_parents if Path("/proc/self/environ").exists() else _read_parents_by_psutil
    for marks in read():
        if root is not None and works_on(root, marks):
            yield marks


def _read_parents() -> Iterator[Mapping[str, str]]:
    pid = os.getppid()
    while pid:
        process = Path("/proc", str(pid))
        with suppress(OSError):  # a process of another user
            entries = os.fsdecode((process / "environ").read_bytes()).split("\0")
            yield dict(entry.split("=", 1) for entry in entries if "=" in entry)
        try:
            found = _PARENT.search((process / "status").read_bytes())
        except OSError:  # it has just exited
            return
        pid = int(found[1]) if found else 0


def _read_parents_by_psutil() -> Iterator[Mapping[str, str]]:
    import psutil  # noqa: PLC0415  (only where there is no /proc)

    with suppress(psutil.Error):  # a parent that has just exited
        for parent in psutil.Process().parents():
            with suppress(psutil.Error):  # a process of another user
                yield parent.environ()


def works_on(root: Path, marks: Mapping[str, str]) -> bool:
    """Return whether a process with these variables belongs to the project."""
    named = marks.get("OSTLER_PROJECT", "")
    return bool(named) and Path(named).resolve() == root.resolve()
