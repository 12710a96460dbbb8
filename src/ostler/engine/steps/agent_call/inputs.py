"""Reads the inputs of a document: text is part of the prompt, a binary file is only described there."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from msgspec import Struct

from ostler.engine.steps.agent_call.provided_files import LARGEST_FILE
from ostler.errors import Code, OstlerError, PathEscape
from ostler.files.beneath import read_beneath
from ostler.model.task import Input, Task
from ostler.prompt.document import UpstreamOutput, describe_binary_input
from ostler.skills.outputs import is_always_file
from ostler.skills.working_directory import INPUTS

_LARGEST_TEXT = 10 * 1024 * 1024
# Some of them have no NUL character, by which other binary files are recognized.
_BINARY_SUFFIXES = frozenset(
    {".pdf", ".docx", ".xlsx", ".pptx", ".odt", ".ods", ".zip", ".png", ".jpg", ".jpeg", ".gif"}
)


class InputContent(Struct, frozen=True):
    """One input: its path in the project, its content, and its section of the prompt."""

    path: str
    content: bytes
    upstream: UpstreamOutput


def read_inputs(task: Task, root: Path) -> list[InputContent]:
    """Return the inputs of a task; raise INPUT_NOT_FOUND for one that is missing, empty or too large."""
    found = [(one, _read_input(one, root)) for one in task.inputs]
    return [InputContent(one.path, data, _to_upstream(one, data)) for one, data in found if data is not None]


def _read_input(one: Input, root: Path) -> bytes | None:
    try:
        return _read_content(root, one.path)
    except PathEscape as error:
        # Outside the project there is no such input.
        raise OstlerError(Code.INPUT_NOT_FOUND, error.message, error.hint) from error
    except OstlerError as error:
        if one.optional and error.code is Code.INPUT_NOT_FOUND:
            return None
        if isinstance(error.__cause__, FileNotFoundError):
            message = f"the input {one.path} does not exist"
            raise OstlerError(Code.INPUT_NOT_FOUND, message) from error
        raise


def _read_content(root: Path, path: str) -> bytes:
    data = read_beneath(root, path, LARGEST_FILE)
    if not data.strip():
        raise OstlerError(
            Code.INPUT_NOT_FOUND, f"{path} is empty", "write the file, or remove it from the inputs"
        )
    if len(data) > _LARGEST_TEXT and not _is_binary(path, data):
        message = f"cannot read {root / path}: larger than {_LARGEST_TEXT} bytes"
        raise OstlerError(Code.INPUT_NOT_FOUND, message, "use a shorter input: it is part of the prompt")
    return data


def _is_binary(path: str, data: bytes) -> bool:
    suffix = PurePosixPath(path).suffix.lower()
    return suffix in _BINARY_SUFFIXES or (is_always_file(path) and b"\0" in data)


def _to_upstream(one: Input, data: bytes) -> UpstreamOutput:
    if _is_binary(one.path, data):
        return UpstreamOutput(
            one.path, one.description, describe_binary_input(len(data), f"{INPUTS}/{one.path}")
        )
    return UpstreamOutput(one.path, one.description, data.decode("utf-8", "replace"))
