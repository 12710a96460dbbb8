"""The texts that belong to a skill: references/*.md, by name. One that cannot be read is a warning."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from msgspec import Struct

from ostler.config.settings import SkillsSettings
from ostler.errors import OstlerError
from ostler.prompt.skill_file import read_text

_HOME = "references"
_LINK = re.compile(rf"\]\((?:\./)?{_HOME}/([\w.-]+\.md)[)#]")


class Reference(Struct, frozen=True):
    """A text that belongs to a skill."""

    path: str
    content: str

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name


def read_references(
    folder: Path, shown: str, settings: SkillsSettings
) -> tuple[tuple[Reference, ...], list[str]]:
    """Those in a skill's directory that can be read, and a warning for each of the others."""
    names, warnings = _list(folder, shown, settings.max_references)
    read: list[Reference] = []
    for name in names:
        try:
            read.append(_read(folder, shown, name, settings.max_reference_bytes))
        except OstlerError as error:
            warnings.append(f"{error.message}; it is left out")
    return tuple(read), warnings


def missing_references(folder: Path, path: str, body: str, above: int) -> Iterator[str]:
    """A warning for each file that the body links to and that is not there."""
    seen: set[str] = set()
    for number, line in enumerate(body.split("\n"), above + 1):
        for name in _LINK.findall(line):
            if name not in seen and not os.path.lexists(folder / _HOME / name):
                yield f"{path}:{number}: {_HOME}/{name} is not there"
            seen.add(name)


def _list(folder: Path, shown: str, most: int) -> tuple[list[str], list[str]]:
    home = folder / _HOME
    if home.is_symlink():
        return [], [f"{shown}/{_HOME} is a symbolic link; it is left out"]
    try:
        found = sorted(name for name in os.listdir(home) if _is_reference(name))  # noqa: PTH208
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [f"{shown}/{_HOME} cannot be read: {error.strerror}"]
    names = [name for name in found if name.isprintable()]
    odd = [name for name in found if name not in names]
    warnings = [f"{shown}/{_HOME}/{name!a} has a name that cannot be printed; it is left out" for name in odd]
    if len(names) > most:
        warnings.append(f"{shown}/{_HOME} has {len(names)} references; {most} are used")
    return names[:most], warnings


def _read(folder: Path, shown: str, name: str, limit: int) -> Reference:
    where = f"{shown}/{_HOME}/{name}"
    return Reference(where, read_text(folder, f"{_HOME}/{name}", limit, where).strip("\n"))


def _is_reference(name: str) -> bool:
    return name.endswith(".md") and not name.startswith(".")
