"""Reads the references of a skill: references/*.md, sorted by name; an unreadable one is a warning."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from msgspec import Struct

from ostler.config.settings import SkillsSettings
from ostler.errors import OstlerError
from ostler.skills.file import read_text

_FOLDER = "references"
_LINK = re.compile(rf"\]\((?:\./)?{_FOLDER}/([\w.-]+\.md)[)#]")


class Reference(Struct, frozen=True):
    """A reference file of a skill."""

    path: str
    content: str

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name


def read_references(
    folder: Path, shown: str, settings: SkillsSettings
) -> tuple[tuple[Reference, ...], list[str]]:
    """Return the readable references, and a warning for each of the others."""
    names, warnings = _list_names(folder, shown, settings.max_references)
    read: list[Reference] = []
    for name in names:
        try:
            read.append(_read(folder, shown, name, settings.max_reference_bytes))
        except OstlerError as error:
            warnings.append(f"{error.message}; it is left out")
    return tuple(read), warnings


def check_links(folder: Path, path: str, body: str, above: int) -> Iterator[str]:
    """Yield a warning for each missing file that the body links to."""
    seen: set[str] = set()
    for number, line in enumerate(body.split("\n"), above + 1):
        for name in _LINK.findall(line):
            if name not in seen and not os.path.lexists(folder / _FOLDER / name):
                yield f"{path}:{number}: {_FOLDER}/{name} does not exist"
            seen.add(name)


def _list_names(folder: Path, shown: str, most: int) -> tuple[list[str], list[str]]:
    home = folder / _FOLDER
    if home.is_symlink():
        return [], [f"{shown}/{_FOLDER} is a symbolic link; it is left out"]
    try:
        found = sorted(name for name in os.listdir(home) if _is_reference(name))  # noqa: PTH208
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [f"{shown}/{_FOLDER} cannot be read: {error.strerror}"]
    names = [name for name in found if name.isprintable()]
    odd = [name for name in found if name not in names]
    warnings = [f"{shown}/{_FOLDER}/{name!a} has an unprintable name; it is left out" for name in odd]
    if len(names) > most:
        warnings.append(f"{shown}/{_FOLDER} has {len(names)} references; {most} are used")
    return names[:most], warnings


def _read(folder: Path, shown: str, name: str, limit: int) -> Reference:
    where = f"{shown}/{_FOLDER}/{name}"
    return Reference(where, read_text(folder, f"{_FOLDER}/{name}", limit, where).strip("\n"))


def _is_reference(name: str) -> bool:
    return name.endswith(".md") and not name.startswith(".")
