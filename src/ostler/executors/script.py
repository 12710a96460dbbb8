"""A scripted agent's script: a YAML list of steps, each with one verb."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import msgspec
import yaml
from msgspec import Struct

from ostler.errors import Code, OstlerError

_BLOCK = re.compile(r"^```ostler-script[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_LARGEST = 1 << 20


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
        root = _compose(text)
    except yaml.YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None)
        raise ScriptInvalid(where, above + (mark.line + 1 if mark else 1), _problem(error)) from error
    if not isinstance(root, yaml.SequenceNode):
        raise ScriptInvalid(where, above + 1, "expected a list of steps, such as `- say: hello`")
    return [_step(node, where, above) for node in cast(list[yaml.Node], root.value)]


def _compose(text: str) -> yaml.Node | None:
    if len(text) > _LARGEST:
        raise yaml.YAMLError("the script is larger than 1 MiB")
    reader: Any = yaml  # its stubs leave scan and compose untyped
    for token in reader.scan(text, Loader=yaml.SafeLoader):
        if isinstance(token, yaml.AliasToken | yaml.TagToken):
            mark = cast(Any, token).start_mark
            raise yaml.MarkedYAMLError(problem="aliases and tags are not allowed", problem_mark=mark)
    return reader.compose(text, Loader=yaml.SafeLoader)


def _step(node: yaml.Node, where: str, above: int) -> dict[str, object]:
    line = above + node.start_mark.line + 1
    value: object = cast(Any, yaml.SafeLoader("")).construct_object(node, deep=True)
    step = cast(dict[object, object], value) if isinstance(value, dict) else {}
    verb = next(iter(step), None)
    if len(step) != 1 or verb not in VERBS:
        raise ScriptInvalid(where, line, f"expected one of {', '.join(VERBS)}, got {value!r:.80}")
    if _repeats(node):
        raise ScriptInvalid(where, line, f"{verb}: a key is given twice")
    return {str(verb): _checked(str(verb), step[verb], where, line)}


def _repeats(node: yaml.Node) -> bool:
    """Whether a mapping, or one inside it, has a key twice; YAML would silently keep the last."""
    if not isinstance(node, yaml.MappingNode):
        return False
    pairs = cast(list[tuple[yaml.Node, yaml.Node]], node.value)
    keys = [str(key.value) for key, _ in pairs]
    return len(set(keys)) < len(keys) or any(_repeats(value) for _, value in pairs)


def _checked(verb: str, value: object, where: str, line: int) -> object:
    try:
        checked: object = msgspec.convert(value, VERBS[verb], str_keys=True)
    except msgspec.ValidationError as error:
        raise ScriptInvalid(where, line, f"{verb}: {error}") from error
    if isinstance(checked, Edit) and [checked.content, checked.append, checked.replace].count(None) != 2:
        raise ScriptInvalid(where, line, "edit: give exactly one of content, append, replace")
    return msgspec.to_builtins(checked)


def _problem(error: yaml.YAMLError) -> str:
    return str(getattr(error, "problem", None) or error)
