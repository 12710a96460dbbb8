"""Finds out which files of a skill's directory agents can read, and which are left out and why."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

from msgspec import Struct

from ostler.config.settings import SkillsSettings
from ostler.skills.references import FOLDER as REFERENCES
from ostler.skills.tree import list_files
from ostler.text import describe_os_error, to_printable

_SNIFFED = 8192  # bytes: a NUL among them makes a file binary
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_WARNINGS = 10
_OVER = "over the limit of "


class SkillFile(Struct, frozen=True):
    """A file of a skill that agents can read."""

    path: str  # relative to the skill's directory
    size: int
    is_executable: bool = False
    is_binary: bool = False


class LeftOutFile(Struct, frozen=True):
    """A file of a skill that agents cannot read."""

    path: str  # relative to the skill's directory, printable
    reason: str

    @property
    def is_over_limit(self) -> bool:
        """Whether only a limit on all files leaves it out; many files have this reason."""
        return self.reason.startswith(_OVER)


class SkillDirectory(Struct, frozen=True):
    """The files of a skill, in the order of their paths."""

    files: tuple[SkillFile, ...] = ()
    left_out: tuple[LeftOutFile, ...] = ()


def read_directory(folder: Path, settings: SkillsSettings) -> SkillDirectory:
    """Return the files within the limits of [skills]; links that leave the directory are not followed."""
    files: list[SkillFile] = []
    left_out: list[LeftOutFile] = []
    total = 0

    def skip(error: OSError) -> None:
        path = os.path.relpath(str(error.filename), folder)
        left_out.append(LeftOutFile(to_printable(path), f"not readable ({describe_os_error(error)})"))

    for name in list_files(folder, skip):
        found = _examine(folder, name, settings)
        if isinstance(found, SkillFile):
            found = _apply_limits(found, len(files), total, settings)
        if isinstance(found, SkillFile):
            files.append(found)
            total += found.size
        else:
            left_out.append(found)
    return SkillDirectory(tuple(files), tuple(left_out))


def describe_left_out(directory: SkillDirectory, shown: str) -> tuple[str, ...]:
    """Return a warning for each file that agents cannot read; many are counted."""
    unreported = [one for one in directory.left_out if not _is_prompt_file(one.path)]
    by_reason: dict[str, list[str]] = {}
    for one in unreported:
        by_reason.setdefault(one.reason if one.is_over_limit else one.path, []).append(
            f"{shown}/{one.path} is {one.reason}; it is left out"
        )
    lines = [
        of_one[0] if len(of_one) == 1 else f"{shown}: {len(of_one)} files are {reason}; they are left out"
        for reason, of_one in by_reason.items()
    ]
    more = len(lines) - _MAX_WARNINGS
    counted = (f"{shown}: {more} more files are left out; see ostler skills show",) if more > 0 else ()
    return (*lines[:_MAX_WARNINGS], *counted)


def _is_prompt_file(path: str) -> bool:
    """Return whether a file belongs to the prompt: the check of references reports it."""
    return path.strip("'") == REFERENCES or PurePosixPath(path.strip("'")).parent == PurePosixPath(REFERENCES)


def _apply_limits(
    file: SkillFile, count: int, total: int, settings: SkillsSettings
) -> SkillFile | LeftOutFile:
    if count >= settings.max_files:
        return LeftOutFile(file.path, f"{_OVER}{settings.max_files} files (skills.max_files)")
    if total + file.size > settings.max_total_bytes:
        limit = f"{settings.max_total_bytes} bytes for all files (skills.max_total_bytes)"
        return LeftOutFile(file.path, f"{_OVER}{limit}")
    return file


def _examine(folder: Path, name: str, settings: SkillsSettings) -> SkillFile | LeftOutFile:
    if not name.isprintable():
        return LeftOutFile(to_printable(name), "a file with an unprintable name")
    if (folder / name).is_symlink() and (reason := _find_link_problem(folder, name)):
        return LeftOutFile(name, reason)
    try:
        fd = os.open(os.path.realpath(folder / name), _OPEN)
    except OSError as error:
        return LeftOutFile(name, f"not readable ({describe_os_error(error)})")
    try:
        return _examine_open(fd, name, settings.max_file_bytes)
    finally:
        os.close(fd)


def _examine_open(fd: int, name: str, limit: int) -> SkillFile | LeftOutFile:
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        return LeftOutFile(name, "a device, a socket or a pipe")
    if found.st_size > limit:
        return LeftOutFile(name, f"larger than {limit} bytes (skills.max_file_bytes)")
    is_executable = bool(found.st_mode & stat.S_IXUSR)
    return SkillFile(name, found.st_size, is_executable, b"\0" in os.read(fd, _SNIFFED))


def _find_link_problem(folder: Path, name: str) -> str:
    """Return why a link is not followed; empty for one to a file of the skill."""
    target = Path(os.path.realpath(folder / name))
    if not target.is_relative_to(folder):
        return "a symbolic link that leaves the skill's directory"
    if target.is_dir():
        return "a symbolic link to a directory"
    return "" if target.exists() else "a broken symbolic link"
