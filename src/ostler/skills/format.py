"""The rules of the public Agent Skills format for the front matter of a SKILL.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from ostler.files.front_matter import FrontMatter
from ostler.skills.finding import LintFinding

MAX_NAME, MAX_DESCRIPTION, MAX_COMPATIBILITY, MAX_LINES = 64, 1024, 500, 500
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# `squad` is of Ostler.
_KEYS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools", "squad"})


def check_format(matter: FrontMatter, path: str) -> Iterator[LintFinding]:
    """Yield what other clients of the format would refuse or not understand, with its line."""
    if matter.document is None:
        return
    lines = matter.document.lines
    for key, what in (*_check_texts(matter.values), *_check_tables(matter.values)):
        yield LintFinding(path, lines.get((key,), 1), what, 1)
    if (count := matter.lines_before + matter.body.count("\n") + 1) > MAX_LINES:
        what = f"{count} lines; the format recommends at most {MAX_LINES}: move details to references/"
        yield LintFinding(path, 0, what, 1)


def _check_texts(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    name = values.get("name")
    if name is None:
        yield "name", "no name: the format requires the name of the directory"
    elif not isinstance(name, str) or len(name) > MAX_NAME or not _NAME.fullmatch(name):
        rule = f"expected 1 to {MAX_NAME} lowercase letters, digits and single hyphens"
        yield "name", f"invalid name {name!r:.80}: {rule}"
    for key, most in (("description", MAX_DESCRIPTION), ("compatibility", MAX_COMPATIBILITY)):
        value = values.get(key)
        if key in values and not isinstance(value, str):
            yield key, f"invalid {key}: expected text"
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
        if not isinstance(values["allowed-tools"], str):
            yield "allowed-tools", "invalid allowed-tools: expected names separated by spaces"
        yield "allowed-tools", "allowed-tools is not applied: the permissions of the executor are"
    for key in values.keys() - _KEYS:
        yield key, f"the key {key} is not part of the format: move it to metadata"
