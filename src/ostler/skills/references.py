"""Reads the references of a skill: references/*.md, sorted by name; an unreadable one is a warning."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from msgspec import Struct

from ostler.config.settings import SkillsSettings
from ostler.errors import OstlerError
from ostler.skills.file import read_text
from ostler.text import describe_os_error

FOLDER = "references"


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
            warnings.append(f"{error.message}; it is left out of the prompt")
    return tuple(read), warnings


def _list_names(folder: Path, shown: str, most: int) -> tuple[list[str], list[str]]:
    home = folder / FOLDER
    if home.is_symlink():
        return [], [f"{shown}/{FOLDER} is a symbolic link; it is left out"]
    try:
        found = sorted(name for name in os.listdir(home) if _is_reference(name))  # noqa: PTH208
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [f"{shown}/{FOLDER} cannot be read: {describe_os_error(error)}"]
    names = [name for name in found if name.isprintable()]
    odd = [name for name in found if name not in names]
    warnings = [f"{shown}/{FOLDER}/{name!a} has an unprintable name; it is left out" for name in odd]
    if len(names) > most:
        warnings.append(f"{shown}/{FOLDER} has {len(names)} references; {most} are used")
    return names[:most], warnings


def _read(folder: Path, shown: str, name: str, limit: int) -> Reference:
    where = f"{shown}/{FOLDER}/{name}"
    return Reference(where, read_text(folder, f"{FOLDER}/{name}", limit, where).strip("\n"))


def _is_reference(name: str) -> bool:
    return name.endswith(".md") and not name.startswith(".")
