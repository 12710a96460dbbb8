"""Where skills are, and which of several with one name counts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ostler.config.nearest import nearest
from ostler.config.settings import SkillsSettings
from ostler.errors import Code, OstlerError, PathEscape

FILE = "SKILL.md"
PLACES = (".agents/skills", ".claude/skills")

_LONGEST_NAME = 128


class SkillPlace(Struct, frozen=True):
    """The directory of one skill, not yet looked into."""

    name: str
    shown: str  # as a person finds it: from the project, or from the root of the disk
    folder: Path
    bounds: Path  # what it may not lead out of

    @property
    def path(self) -> str:
        return f"{self.shown}/{FILE}"


def find_skills(root: Path, settings: SkillsSettings) -> list[SkillPlace]:
    """Every skill by name, broken ones too; of two with one name, that of the earlier place."""
    found: dict[str, SkillPlace] = {}
    for place in _places(root, settings):
        for skill in _skills_in(place):
            found.setdefault(skill.name, skill)
    return [found[name] for name in sorted(found)]


def locate(name: str, root: Path, settings: SkillsSettings) -> list[SkillPlace]:
    """Where a skill is; the first place counts. Raises SKILL_NOT_FOUND with where it was looked for."""
    if not _is_name(name):
        hint = "it is the name of a directory, with no slash and no leading dot"
        raise OstlerError(Code.SKILL_NOT_FOUND, f"{name!r:.100} cannot be the name of a skill", hint)
    places = list(_places(root, settings))
    if found := [skill for place in places for skill in _skills_in(place, name)]:
        return found
    looked = ", ".join(place.shown for place in places)
    hint = _suggestion(name, root, settings)
    raise OstlerError(Code.SKILL_NOT_FOUND, f"no skill {name} in {looked}", hint)


def real_folder(skill: SkillPlace) -> Path:
    """The skill's directory with no link left in it; raises OstlerError where it leads out, or nowhere."""
    try:
        folder = skill.folder.resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError: a loop of links, before Python 3.13
        message = f"{skill.shown} is a symbolic link that leads nowhere"
        raise OstlerError(Code.CONFIG_INVALID, message, "mend it, or remove it") from None
    if not folder.is_relative_to(skill.bounds.resolve()):
        raise PathEscape(f"{skill.shown} leads out of {skill.bounds}, to {shown(str(folder))}")
    return folder


def missing_places(root: Path, settings: SkillsSettings) -> list[str]:
    """Places that the settings name and that are no directories."""
    return [place.shown for place in _places(root, settings) if _is_missing(place)]


def shown(name: str) -> str:
    """A name from the disk that can be printed, and be part of JSON."""
    return name if name.isprintable() else ascii(name)


class _Place(Struct, frozen=True):
    shown: str
    folder: Path
    bounds: Path


def _places(root: Path, settings: SkillsSettings) -> Iterator[_Place]:
    for shown in PLACES:
        yield _Place(shown, root / shown, root)
    for named in settings.paths:
        folder = root / Path(named).expanduser()
        yield _Place(named.rstrip("/") or "/", folder, folder)


def _is_missing(place: _Place) -> bool:
    return place.shown not in PLACES and not place.folder.is_dir()


def _skills_in(place: _Place, name: str = "") -> Iterator[SkillPlace]:
    """Those of one place; only the one of that name, in exactly these letters, when given."""
    for entry in _entries(place.folder):
        if entry.name == (name or entry.name) and _is_name(entry.name) and _holds_a_skill(entry):
            yield SkillPlace(entry.name, f"{place.shown}/{entry.name}", Path(entry.path), place.bounds)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # a place that is not there has no skills
        return []


def _holds_a_skill(entry: os.DirEntry[str]) -> bool:
    """A directory with a file of that name, in whatever letters; one that cannot be looked into counts."""
    try:
        if entry.is_dir():
            return any(name.upper() == FILE.upper() for name in os.listdir(entry.path))  # noqa: PTH208
    except OSError:
        return True
    return entry.is_symlink() and not Path(entry.path).exists()


def _is_name(name: str) -> bool:
    plain = name.isprintable() and not name.startswith(".") and name.strip() == name
    return plain and 0 < len(name) <= _LONGEST_NAME and "/" not in name and "\\" not in name


def _suggestion(name: str, root: Path, settings: SkillsSettings) -> str:
    known = {skill.name.casefold(): skill.name for skill in find_skills(root, settings)}
    if near := nearest(name.casefold(), known):
        return f"did you mean {known[near]}?"
    if known:
        return "ostler skills list shows those there are"
    return f"write one in {PLACES[0]}/{name}/{FILE}"
