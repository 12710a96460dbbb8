"""Files in the working directory of a document's agent: the skill and the inputs, and the document it writes.

The copies are private and read-only, so that an agent changes neither the skill nor the project; a sandbox
mounts them read-only too. A model API reads the copy of the skill with a tool.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct

from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.worktree import working_directory
from ostler.errors import Code, OstlerError
from ostler.files.atomic import make_private_dir
from ostler.files.beneath import read_beneath
from ostler.files.disk import to_disk_error
from ostler.git.worktree.trash import erase
from ostler.skills.outputs import is_always_answer, is_always_file
from ostler.skills.working_directory import INPUTS, SKILL

if TYPE_CHECKING:
    from ostler.skills.content import SkillContent

LARGEST_FILE = 100 * 1024 * 1024
_DIRECTORY, _FILE, _PROGRAM = 0o555, 0o444, 0o555
_MAX_NAMED = 5


class FileCopy(Struct, frozen=True):
    """One file to write: its path below the new directory, and its content."""

    path: str
    content: bytes
    is_executable: bool = False


def provide_files(directory: Path, skill: SkillContent | None, inputs: Iterable[FileCopy]) -> None:
    """Replace the copies of the skill and of the inputs; without files there is no directory."""
    make_private_dir(directory)
    _replace(directory / SKILL, _read_skill(skill) if skill else ())
    _replace(directory / INPUTS, inputs)


def _read_skill(skill: SkillContent) -> Iterator[FileCopy]:
    """Yield the files; one that has grown since it was listed is not read."""
    for one in skill.files:
        content = _read_skill_file(Path(skill.folder), one.path, one.size)
        yield FileCopy(one.path, content, one.is_executable)


def document_name(context: TaskContext) -> str:
    """Return the name of the file that the agent writes; empty: the answer is the document."""
    path = context.task.output.path if context.task.output else ""
    return "" if is_always_answer(path) else PurePosixPath(path).name


def find_document_file(context: TaskContext, services: StepServices) -> str:
    """Return the name of the file if the agent has to write it, or has written it before; else empty.

    A later call has to know of a file that could have been an answer: the file is the document then.
    """
    name = document_name(context)
    has_file = bool(name) and os.path.lexists(working_directory(context.state, services) / name)
    return name if has_file or is_always_file(name) else ""


def read_document_file(context: TaskContext, services: StepServices) -> bytes | None:
    """Return the document that the agent wrote; None if its answer is the document.

    Raises NO_RESULT if there has to be a file, and it is missing, empty or not a regular file.
    """
    if not (name := document_name(context)):
        return None
    directory = working_directory(context.state, services)
    is_required = is_always_file(name)
    if not is_required and not os.path.lexists(directory / name):
        return None
    try:
        data = read_beneath(directory, name, LARGEST_FILE)
    except OstlerError as error:
        if error.code not in (Code.INPUT_NOT_FOUND, Code.PATH_ESCAPE):
            raise
        reason = _describe_others(directory, name) if not os.path.lexists(directory / name) else error.message
        raise _missing(name, reason) from error
    if not data:
        raise _missing(name, f"{name} is empty")
    return data


def _missing(name: str, reason: str) -> OstlerError:
    message = f"the agent did not write the document {name} in its working directory: {reason}"
    return OstlerError(Code.NO_RESULT, message, "read the log, then run ostler retry")


def _describe_others(directory: Path, name: str) -> str:
    """Return the files of the same kind that are there instead."""
    suffix = PurePosixPath(name).suffix.lower()
    found = sorted(one.name for one in directory.glob("*") if one.suffix.lower() == suffix and one.is_file())
    if not found:
        return f"there is no {suffix} file"
    return f"it wrote {', '.join(found[:_MAX_NAMED])} instead"


def _read_skill_file(folder: Path, path: str, size: int) -> bytes:
    try:
        return read_beneath(folder, path, size)
    except OstlerError as error:
        message = f"the skill changed while it was copied: {error.message}"
        raise OstlerError(Code.CONFIG_INVALID, message, "run again") from error


def _replace(target: Path, copies: Iterable[FileCopy]) -> None:
    desk = target.parent.parent
    fresh = desk / f"new-{target.name}"
    for old in (target, fresh):
        erase(old, desk)
    try:
        for one in copies:
            _write(fresh, one)
        if fresh.is_dir():
            fresh.rename(target)
            _make_read_only(target)
    except OSError as error:
        raise to_disk_error(target, error) from error


def _write(directory: Path, copy: FileCopy) -> None:
    path = directory / copy.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(copy.content)
    path.chmod(_PROGRAM if copy.is_executable else _FILE)


def _make_read_only(directory: Path) -> None:
    for here, _, _ in os.walk(directory):
        os.chmod(here, _DIRECTORY)  # noqa: PTH101
