"""Parses the script of a scripted agent: a YAML list of steps, each with one action."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from ostler.errors import Code, OstlerError
from ostler.files.yaml import YamlInvalid, read_yaml
from ostler.text import describe_os_error

_BLOCK = re.compile(r"^```ostler-script[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


class EditStep(Struct, frozen=True, forbid_unknown_fields=True):
    """Change one file: write its content, append a text, or replace a text."""

    path: str
    content: str | None = None
    append: str | None = None
    replace: str | None = None
    by: str = ""  # the new text of replace


class FailStep(Struct, frozen=True, forbid_unknown_fields=True):
    """Fail the attempt; the next one continues after this step."""

    code: Code | None = None
    exit: int = 1
    message: str = "the script failed"


class ToolStep(Struct, frozen=True, forbid_unknown_fields=True):
    """Report the use of a tool without running it."""

    name: str
    detail: str = ""


ACTIONS: dict[str, Any] = {
    "say": str,
    "edit": EditStep,
    "run": str,
    "sleep": float,
    "fail": FailStep,
    "tool": ToolStep,
}


class ScriptInvalid(OstlerError):
    """An invalid script; the message names file and line."""

    def __init__(self, where: str, line: int, what: str) -> None:
        super().__init__(Code.CONFIG_INVALID, f"{where}:{line}: {what}")


def load_script(path: Path, where: str = "") -> list[dict[str, object]]:
    """Return the steps of a script file; an error names the file as `where`, if it is set."""
    try:
        return parse_script(path.read_text("utf-8"), where or str(path))
    except OSError as error:
        raise ScriptInvalid(
            where or str(path), 1, f"the script cannot be read: {describe_os_error(error)}"
        ) from error
    except UnicodeDecodeError as error:
        raise ScriptInvalid(where or str(path), 1, f"the script cannot be read: {error}") from error


def extract_script(prompt: str) -> list[dict[str, object]] | None:
    """Return the steps of the first ```ostler-script block of a prompt, or None."""
    found = _BLOCK.search(prompt)
    return parse_script(found[1], "prompt", prompt.count("\n", 0, found.start(1))) if found else None


def parse_script(text: str, where: str, line_offset: int = 0) -> list[dict[str, object]]:
    """Return the steps; raise ScriptInvalid at the first mistake."""
    try:
        script = read_yaml(text, where, line_offset)
    except YamlInvalid as error:
        raise ScriptInvalid(where, error.line, error.what) from error
    if not isinstance(script.value, list):
        raise ScriptInvalid(where, line_offset + 1, "expected a list of steps, such as `- say: hello`")
    steps = cast(list[object], script.value)
    return [_step(value, where, script.lines[index,]) for index, value in enumerate(steps)]


def _step(value: object, where: str, line: int) -> dict[str, object]:
    step = cast(dict[str, object], value) if isinstance(value, dict) else {}
    action = next(iter(step), "")
    if len(step) != 1 or action not in ACTIONS:
        raise ScriptInvalid(where, line, f"expected one of {', '.join(ACTIONS)}, got {value!r:.80}")
    return {action: _checked(action, step[action], where, line)}


def _checked(action: str, value: object, where: str, line: int) -> object:
    try:
        checked: object = msgspec.convert(value, ACTIONS[action], str_keys=True)
    except msgspec.ValidationError as error:
        raise ScriptInvalid(where, line, f"{action}: {error}") from error
    if isinstance(checked, EditStep) and [checked.content, checked.append, checked.replace].count(None) != 2:
        raise ScriptInvalid(where, line, "edit: give exactly one of content, append, replace")
    return msgspec.to_builtins(checked)
