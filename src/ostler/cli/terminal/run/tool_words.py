"""The result of a tool in one line."""

from __future__ import annotations

import re
from typing import cast

import msgspec

from ostler.cli.terminal.diff_lines import diff_lines
from ostler.cli.terminal.markdown import sanitize_lines
from ostler.views.agent_work.edits import Edit

_SILENT = frozenset({"read", "edit", "write", "delete", "move", "search", "list", "plan", "think"})
_TAGS = re.compile(r"</?tool_use_error>")  # of claude, around its own errors
_JSON = re.compile(r"\s*[\[{]")


def is_silent(verb: str) -> bool:
    """Return whether the result of a successful call adds nothing to its line."""
    return verb in _SILENT


def count_changes(edits: list[Edit]) -> str:
    """Return how many lines edits add and remove; empty without edits."""
    signs = [line[:1] for edit in edits for line, _ in diff_lines(edit)]
    return f"+{signs.count('+')} -{signs.count('-')}" if edits else ""


def fold_result(text: str, *, from_end: bool) -> str:
    """Return the first or the last line of a result, with the number of all lines; empty for JSON."""
    text = _TAGS.sub("", text)
    lines = [line.strip() for line in sanitize_lines(text.strip("\n")) if line.strip()]
    if not lines or is_json(text):
        return ""
    shown = lines[-1 if from_end else 0]
    place = "last" if from_end else "first"
    return shown if len(lines) == 1 else f"{shown} ({place} of {len(lines)} lines)"


def is_json(text: str) -> bool:
    return read_json(text) is not None


def read_json(text: str) -> dict[str, object] | list[object] | None:
    """Return the object or list that is the whole text; None for any other text."""
    if not _JSON.match(text):
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, object] | list[object])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def describe_json(found: dict[str, object] | list[object]) -> str:
    """Return the texts and numbers of an answer in lines of Markdown."""
    if isinstance(found, list):
        return f"{len(found)} entries" if len(found) != 1 else "1 entry"
    return "\n".join(f"- {name}: {_describe_value(value)}" for name, value in found.items())


def _describe_value(value: object) -> str:
    match value:
        case list():
            return describe_json(cast("list[object]", value))
        case dict():
            return ", ".join(cast("dict[str, object]", value))
        case bool() | None:
            return {True: "yes", False: "no", None: "none"}[value]
        case _:
            return " ".join(str(value).split())
