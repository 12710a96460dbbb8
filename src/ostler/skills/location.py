"""Finds the directories of skills, and which of several with the same name has precedence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ostler.config.checks.expect import nearest
from ostler.config.settings import SkillsSettings
from ostler.errors import Code, OstlerError, PathEscape
from ostler.text import to_printable

FILE = "SKILL.md"
FOLDERS = (".agents/skills", ".claude/skills")

_MAX_NAME = 128


class SkillLocation(Struct, frozen=True):
    """The directory of one skill, not read yet."""

    name: str
    display_path: str  # relative to the project, or absolute
    folder: Path
    boundary: Path  # a link must not lead out of this directory

    @property
    def path(self) -> str:
        return f"{self.display_path}/{FILE}"


def find_skills(root: Path, settings: SkillsSettings) -> list[SkillLocation]:
    """Return all skills sorted by name, including broken ones; the earlier folder has precedence."""
    found: dict[str, SkillLocation] = {}
    for place in _list_search_folders(root, settings):
        for skill in _find_in_folder(place):
            found.setdefault(skill.name, skill)
    return [found[name] for name in sorted(found)]


def locate_skill(name: str, root: Path, settings: SkillsSettings) -> list[SkillLocation]:
    """Return the locations of a skill, the first has precedence; raises SKILL_NOT_FOUND with the folders."""
    if not _is_valid_name(name):
        hint = "use the name of its directory, without a slash or a leading dot"
        raise OstlerError(Code.SKILL_NOT_FOUND, f"invalid skill name {name!r:.100}", hint)
    places = list(_list_search_folders(root, settings))
    if found := [skill for place in places for skill in _find_in_folder(place, name)]:
        return found
    looked = ", ".join(place.display_path for place in places)
    hint = _suggest(name, root, settings)
    raise OstlerError(Code.SKILL_NOT_FOUND, f"no skill {name} in {looked}", hint)


def resolve_folder(skill: SkillLocation) -> Path:
    """Return the real directory of a skill; raises OstlerError for a link that is broken or leads out."""
    try:
        folder = skill.folder.resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError: a loop of links, before Python 3.13
        message = f"{skill.display_path} is a broken symbolic link"
        raise OstlerError(Code.CONFIG_INVALID, message, "fix it, or delete it") from None
    if not folder.is_relative_to(skill.boundary.resolve()):
        raise PathEscape(
            f"{skill.display_path} leads out of {skill.boundary}, to {to_printable(str(folder))}"
        )
    return folder


def list_missing_folders(root: Path, settings: SkillsSettings) -> list[str]:
    """Return the folders of the settings that are not directories."""
    return [place.display_path for place in _list_search_folders(root, settings) if _is_missing(place)]


class _SearchFolder(Struct, frozen=True):
    display_path: str
    folder: Path
    boundary: Path


def _list_search_folders(root: Path, settings: SkillsSettings) -> Iterator[_SearchFolder]:
    for shown in FOLDERS:
        yield _SearchFolder(shown, root / shown, root)
    for named in settings.paths:
        folder = root / Path(named).expanduser()
        yield _SearchFolder(named.rstrip("/") or "/", folder, folder)


def _is_missing(place: _SearchFolder) -> bool:
    return place.display_path not in FOLDERS and not place.folder.is_dir()


def _find_in_folder(place: _SearchFolder, name: str = "") -> Iterator[SkillLocation]:
    """Yield the skills of one folder; only the one with this exact name, if given."""
    for entry in _list_entries(place.folder):
        if entry.name == (name or entry.name) and _is_valid_name(entry.name) and _has_skill_file(entry):
            yield SkillLocation(
                entry.name, f"{place.display_path}/{entry.name}", Path(entry.path), place.boundary
            )


def _list_entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # a missing folder has no skills
        return []


def _has_skill_file(entry: os.DirEntry[str]) -> bool:
    """Return whether a directory has a SKILL.md in any case; an unreadable one counts."""
    try:
        if entry.is_dir():
            return any(name.upper() == FILE.upper() for name in os.listdir(entry.path))  # noqa: PTH208
    except OSError:
        return True
    return entry.is_symlink() and not Path(entry.path).exists()


def _is_valid_name(name: str) -> bool:
    plain = name.isprintable() and not name.startswith(".") and name.strip() == name
    return plain and 0 < len(name) <= _MAX_NAME and "/" not in name and "\\" not in name


def _suggest(name: str, root: Path, settings: SkillsSettings) -> str:
    known = {skill.name.casefold(): skill.name for skill in find_skills(root, settings)}
    if near := nearest(name.casefold(), known):
        return f"did you mean {known[near]}?"
    if known:
        return "run ostler skills list to see all skills"
    return f"create {FOLDERS[0]}/{name}/{FILE}"
