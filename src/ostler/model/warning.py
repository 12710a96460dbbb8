"""The details of warnings: files that no commit contains, and changes of the user's repository."""

# Annotations are values here: msgspec would compile each text again, a tenth of the start of a run.

from typing import Protocol

from msgspec import Struct

from ostler.errors import WarningCode
from ostler.model.fix import describe_warning

MAX_NAMES = 10


class LeftFiles(Struct, frozen=True, omit_defaults=True):
    """Files that an agent left in its worktree and that no commit contains."""

    count: int = 0
    names: tuple[str, ...] = ()  # the first ones, below the worktree
    size_bytes: int = 0
    kept_in: str = ""  # directory with the copies; empty: they are in the worktree
    note: str = ""  # why the worktree is kept, and the command that removes it


class WarningDetail(Struct, frozen=True):
    """One line about a warning of a task."""

    code: str
    text: str


class Warned(Protocol):
    """A task with warnings."""

    @property
    def warnings(self) -> tuple[str, ...]: ...

    @property
    def warning_details(self) -> tuple[WarningDetail, ...]: ...

    @property
    def left(self) -> LeftFiles | None: ...


def describe_warnings(task: Warned) -> tuple[str, ...]:
    """Return each warning as text, with its details."""
    return tuple(_describe(one, task) for one in task.warnings)


def list_warning_lines(task: Warned, most: int) -> tuple[str, ...]:
    """Return a line for each detail of each warning, at most so many of one warning."""
    lines: list[str] = []
    for warning in task.warnings:
        details = [one.text for one in task.warning_details if one.code == warning]
        if len(details) < 2:
            lines.append(_describe(warning, task))
            continue
        lines += [f"{warning}: {text}" for text in details[:most]]
        if len(details) > most:
            lines.append(f"{warning}: {len(details) - most} more (ostler show)")
    return tuple(lines)


def describe_left(left: LeftFiles) -> str:
    """Return the files and where they are."""
    noun = "file" if left.count == 1 else "files"
    more = f" and {left.count - len(left.names)} more" if left.count > len(left.names) else ""
    where = f"copied to {left.kept_in}" if left.kept_in else left.note or "in its worktree"
    return (
        f"the agent left {left.count} {noun} that no commit contains: {', '.join(left.names)}{more} ({where})"
    )


def _describe(warning: str, task: Warned) -> str:
    if warning == WarningCode.FILES_LEFT and task.left is not None:
        return f"{warning}: {describe_left(task.left)}"
    lines = [one.text for one in task.warning_details if one.code == warning]
    return f"{warning}: {'; '.join(lines)}" if lines else describe_warning(warning)
