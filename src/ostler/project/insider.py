"""Which attempt this process belongs to: by its own environment, and by the processes above it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ostler.errors import UsageError

_UNSET = "Ostler sets OSTLER_TASK and OSTLER_ATTEMPT for its agents; set them for nobody else"


class Insider(Struct, frozen=True):
    task: str
    attempt: int


def find_insider(environ: Mapping[str, str], root: Path | None) -> Insider | None:
    """The attempt around this process, None outside of one; raises UsageError for marks that were forged.

    Many agents start their tools without their own environment, so the processes above are asked as well:
    those that work on the project at `root`. A process below an agent is never taken for another's.
    """
    found = {mark for marks in (environ, *_above(root)) if (mark := _read(marks))}
    if len(found) > 1:
        names = " and ".join(sorted(f"attempt {one.attempt} of {one.task}" for one in found))
        raise UsageError(f"this process claims to belong to {names}", _UNSET)
    return next(iter(found), None)


def _read(marks: Mapping[str, str]) -> Insider | None:
    task = marks.get("OSTLER_TASK", "")
    if not task:
        return None
    owner, _, number = marks.get("OSTLER_ATTEMPT", "").rpartition(":")
    if not number.isdecimal() or owner.rpartition(":")[2] != task:
        raise UsageError(f"OSTLER_ATTEMPT names no attempt of {task}", _UNSET)
    return Insider(task, int(number))


def _above(root: Path | None) -> Iterator[Mapping[str, str]]:
    """The environments of the processes above that work on this project."""
    import psutil  # noqa: PLC0415  (only an agent's own word needs it)

    with suppress(psutil.Error):  # a parent that has just ended
        for parent in psutil.Process().parents():
            with suppress(psutil.Error):  # one that is not ours to look into
                marks = parent.environ()
                if root is not None and _works_on(root, marks):
                    yield marks


def _works_on(root: Path, marks: Mapping[str, str]) -> bool:
    named = marks.get("OSTLER_PROJECT", "")
    return bool(named) and Path(named).resolve() == root.resolve()
