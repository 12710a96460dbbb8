"""Finds suspicious content in skills.

It finds careless attacks only; the lock file ensures that a person reviews changes.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path

from ostler.errors import OstlerError
from ostler.skills.file import read_bytes
from ostler.skills.finding import LintFinding
from ostler.skills.location import SkillLocation, resolve_folder
from ostler.skills.rules import RULES
from ostler.skills.tree import list_files
from ostler.text import to_printable

_MAX_BYTES = 1 << 20


def lint_skill(location: SkillLocation, left_out: Container[str] = ()) -> list[LintFinding]:
    """Return the findings in the text files of a skill, except those that no agent can read."""
    folder = resolve_folder(location)
    found: list[LintFinding] = []
    for name in list_files(folder):
        shown = to_printable(name)
        if shown not in left_out:
            found += _lint_file(folder, name, f"{location.display_path}/{shown}")
    return found


def lint_text(text: str, path: str) -> Iterator[LintFinding]:
    """Yield one finding per matching rule, at its first occurrence."""
    small = text.lower()
    for rule in RULES:
        if rule.keywords and not any(sign in small for sign in rule.keywords):
            continue
        if hits := [hit.start() for hit in rule.pattern.finditer(text)]:
            yield LintFinding(path, text.count("\n", 0, hits[0]) + 1, rule.what, len(hits))


def _lint_file(folder: Path, name: str, path: str) -> list[LintFinding]:
    try:
        data = read_bytes(folder, name, _MAX_BYTES, path)
    except OstlerError as error:
        return [LintFinding(path, 1, f"not checked: {error.message.removeprefix(path).strip()}", 1)]
    if b"\0" in data:  # a binary file
        return []
    return list(lint_text(data.decode("utf-8", "replace").removeprefix("\ufeff"), path))
