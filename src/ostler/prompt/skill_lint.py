"""What in a skill deserves a second look before it is trusted

It finds the careless, not the clever; that a person looks at what changed is what the lock file is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ostler.errors import OstlerError
from ostler.prompt.skill_file import read_bytes
from ostler.prompt.skill_place import SkillPlace, real_folder, shown
from ostler.prompt.skill_rules import RULES
from ostler.prompt.skill_tree import files_of

_LARGEST = 1 << 20


class Finding(Struct, frozen=True):
    """One thing to look at."""

    path: str
    line: int
    what: str
    count: int  # how often it is in this file

    def __str__(self) -> str:
        more = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.path}:{self.line}: {self.what}{more}"


def lint_skill(place: SkillPlace) -> list[Finding]:
    """What stands in the text files of the skill's directory; others are not looked into."""
    folder = real_folder(place)
    found: list[Finding] = []
    for name in files_of(folder):
        found += _lint(folder, name, f"{place.shown}/{shown(name)}")
    return found


def lint_text(text: str, path: str) -> Iterator[Finding]:
    """One finding for each rule that the text meets, at its first place."""
    small = text.lower()
    for rule in RULES:
        if rule.signs and not any(sign in small for sign in rule.signs):
            continue
        if hits := [hit.start() for hit in rule.pattern.finditer(text)]:
            yield Finding(path, text.count("\n", 0, hits[0]) + 1, rule.what, len(hits))


def _lint(folder: Path, name: str, path: str) -> list[Finding]:
    try:
        data = read_bytes(folder, name, _LARGEST, path)
    except OstlerError as error:
        return [Finding(path, 1, f"was not looked into: {error.message.removeprefix(path).strip()}", 1)]
    if b"\0" in data:  # a picture, an archive, a program
        return []
    return list(lint_text(data.decode("utf-8", "replace").removeprefix("\ufeff"), path))
