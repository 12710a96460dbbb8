"""The rules of the public Agent Skills format for the front matter of a SKILL.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from ostler.files.front_matter import FrontMatter
from ostler.skills.finding import LintFinding

MAX_NAME, MAX_DESCRIPTION, MAX_COMPATIBILITY, MAX_LINES = 64, 1024, 500, 500
_NAME = re.compile(r"[^\W_]+(?:-[^\W_]+)*")  # letters of all languages
# `squad` is of Ostler.
_KEYS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools", "squad"})


def check_format(matter: FrontMatter, path: str) -> Iterator[LintFinding]:
    """Yield what other clients of the format would refuse or not understand, with its line."""
    if matter.document is None:
        return
    lines = matter.document.lines
    found = (*_check_texts(matter.values), *_check_tables(matter.values))
    for line, what in sorted((lines.get((key,), 1), what) for key, what in found):
        yield LintFinding(path, line, what, 1)
    if (count := matter.lines_before + matter.body.count("\n") + 1) > MAX_LINES:
        what = f"{count} lines; the format recommends at most {MAX_LINES}: move details to references/"
        yield LintFinding(path, 0, what, 1)


def _check_texts(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    name = values.get("name")
    if name is None:
        yield "name", "no name: the format requires the name of the directory"
    elif not isinstance(name, str) or not _is_name(name):
        rule = f"expected 1 to {MAX_NAME} lowercase letters, digits and single hyphens"
        yield "name", f"invalid name {name!r:.80}: {rule}"
    for key, most in (("description", MAX_DESCRIPTION), ("compatibility", MAX_COMPATIBILITY)):
        value = values.get(key)
        if key in values and not isinstance(value, str):
            yield key, f"invalid {key}: expected text"
        elif key == "compatibility" and value is not None and not value.strip():
            yield key, "the compatibility is empty: write what the skill needs, or remove it"
        elif isinstance(value, str) and len(value) > most:
            yield key, f"the {key} has {len(value)} characters; the format allows {most}"


def _check_tables(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    inner = values.get("metadata")
    if inner is not None and not isinstance(inner, dict):
        yield "metadata", "invalid metadata: expected lines of `key: value`"
    elif isinstance(inner, dict):
        for key, value in cast("dict[str, Any]", inner).items():
            if isinstance(value, (dict, list)):
                yield "metadata", f"invalid metadata.{key}: expected text"
    if "allowed-tools" in values:
        if not _is_text_or_texts(values["allowed-tools"]):
            yield (
                "allowed-tools",
                "invalid allowed-tools: expected names, as text or as a list",
            )
        yield "allowed-tools", "allowed-tools is not applied: the permissions of the executor are"
    for key in (key for key in values if key not in _KEYS):
        yield key, f"the key {key} is not part of the format: move it to metadata"


def _is_name(name: str) -> bool:
    return len(name) <= MAX_NAME and name == name.lower() and _NAME.fullmatch(name) is not None


def _is_text_or_texts(value: object) -> bool:
    texts = cast("list[object]", value) if isinstance(value, list) else [value]
    return all(isinstance(one, str) for one in texts)
