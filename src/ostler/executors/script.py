"""A scripted agent's script: a YAML list of steps, each with one verb."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from ostler.errors import Code, OstlerError
from ostler.files.yaml import YamlInvalid, read_yaml

_BLOCK = re.compile(r"^```ostler-script[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


class Edit(Struct, frozen=True, forbid_unknown_fields=True):
    """One change of one file: its whole content, text at its end, or one text for another."""

    path: str
    content: str | None = None
    append: str | None = None
    replace: str | None = None
    by: str = ""  # what stands there after replace


class Fail(Struct, frozen=True, forbid_unknown_fields=True):
    """End the attempt badly; the next one goes on behind this step."""

    code: Code | None = None
    exit: int = 1
    message: str = "the script says so"


class Tool(Struct, frozen=True, forbid_unknown_fields=True):
    """Pretend to use a tool."""

    name: str
    detail: str = ""


VERBS: dict[str, Any] = {"say": str, "edit": Edit, "run": str, "sleep": float, "fail": Fail, "tool": Tool}


class ScriptInvalid(OstlerError):
    """A script that cannot be played, now or later; the message names file and line."""

    def __init__(self, where: str, line: int, what: str) -> None:
        super().__init__(Code.CONFIG_INVALID, f"{where}:{line}: {what}")


def script_of_file(path: Path, where: str = "") -> list[dict[str, object]]:
    """The steps of a script file; a mistake names it as `where`, when given."""
    try:
        return parse(path.read_text("utf-8"), where or str(path))
    except OSError as error:
        raise ScriptInvalid(where or str(path), 1, f"the script cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ScriptInvalid(where or str(path), 1, f"the script cannot be read: {error}") from error


def script_of_prompt(prompt: str) -> list[dict[str, object]] | None:
    """The steps in the prompt's first ```ostler-script block, lines counted from the prompt's start."""
    found = _BLOCK.search(prompt)
    return parse(found[1], "prompt", prompt.count("\n", 0, found.start(1))) if found else None


def parse(text: str, where: str, above: int = 0) -> list[dict[str, object]]:
    """Check every step; raises ScriptInvalid at the first mistake."""
    try:
        script = read_yaml(text, where, above)
    except YamlInvalid as error:
        raise ScriptInvalid(where, error.line, error.what) from error
    if not isinstance(script.value, list):
        raise ScriptInvalid(where, above + 1, "expected a list of steps, such as `- say: hello`")
    steps = cast(list[object], script.value)
    return [_step(value, where, script.lines[index,]) for index, value in enumerate(steps)]


def _step(value: object, where: str, line: int) -> dict[str, object]:
    step = cast(dict[str, object], value) if isinstance(value, dict) else {}
    verb = next(iter(step), "")
    if len(step) != 1 or verb not in VERBS:
        raise ScriptInvalid(where, line, f"expected one of {', '.join(VERBS)}, got {value!r:.80}")
    return {verb: _checked(verb, step[verb], where, line)}


def _checked(verb: str, value: object, where: str, line: int) -> object:
    try:
        checked: object = msgspec.convert(value, VERBS[verb], str_keys=True)
    except msgspec.ValidationError as error:
        raise ScriptInvalid(where, line, f"{verb}: {error}") from error
    if isinstance(checked, Edit) and [checked.content, checked.append, checked.replace].count(None) != 2:
        raise ScriptInvalid(where, line, "edit: give exactly one of content, append, replace")
    return msgspec.to_builtins(checked)
