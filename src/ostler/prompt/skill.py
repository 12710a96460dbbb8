"""Skills: what an agent is told so that it can do one kind of work well.

A skill is a directory with a SKILL.md, by the public convention: front matter, then the body. A prompt gets
the body and the files references/*.md; whatever else is in the directory, deeper files too, stays there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, ValidationError, convert

from ostler.config.settings import DocumentsSettings, FolderName, SkillsSettings
from ostler.errors import Code, OstlerError
from ostler.prompt.skill_file import read_text
from ostler.prompt.skill_place import FILE, SkillPlace, find_skills, locate, real_folder
from ostler.prompt.skill_references import Reference, missing_references, read_references

if TYPE_CHECKING:
    from ostler.files.front_matter import FrontMatter
    from ostler.files.yaml import Document

__all__ = ["Reference", "SkillContent", "find_skills", "load_skill_at", "load_skill_content", "output_path"]

GENERAL = "general"
_OWN_KEYS = ("name", "description")
_USUAL = SkillsSettings()


class SkillContent(Struct, frozen=True):
    """A skill, ready to be put into a prompt."""

    name: str  # that of its directory
    description: str
    body: str
    references: tuple[Reference, ...] = ()
    squad: str | None = GENERAL  # none: a foundation skill, whose output is a context file
    path: str = ""  # of its SKILL.md
    meta: dict[str, Any] = {}  # all other front matter
    warnings: tuple[str, ...] = ()


def load_skill_content(name: str, root: Path, settings: SkillsSettings = _USUAL) -> SkillContent:
    """The skill of that name; raises OstlerError: SKILL_NOT_FOUND, or what is wrong with its SKILL.md."""
    first, *others = locate(name, root, settings)
    return load_skill_at(first, settings, tuple(_shadowed(first, others)))


def load_skill_at(
    place: SkillPlace, settings: SkillsSettings, warnings: tuple[str, ...] = ()
) -> SkillContent:
    """The same for a skill that find_skills found."""
    from ostler.files.front_matter import split_front_matter  # noqa: PLC0415  (few calls need YAML)

    folder = real_folder(place)
    _require_file(folder, place)
    text = read_text(folder, FILE, settings.max_skill_bytes, place.path)
    matter = split_front_matter(text, place.path)
    references, left_out = read_references(folder, place.shown, settings)
    return SkillContent(
        name=place.name,
        description=_words(matter.values.get("description")),
        body=matter.body,
        references=references,
        squad=_squad(place, matter, settings),
        path=place.path,
        meta={key: value for key, value in matter.values.items() if key not in _OWN_KEYS},
        warnings=(
            *warnings,
            *matter.warnings,
            *_odd_matter(place, matter),
            *missing_references(folder, place.path, matter.body, matter.above),
            *left_out,
        ),
    )


def output_path(skill: SkillContent, task_id: str, settings: DocumentsSettings) -> str:
    """Where the document of a task goes, below the project."""
    if skill.squad is None:
        return f"{settings.context}/{skill.name}.md"
    return f"{settings.outputs}/{skill.squad}/{skill.name}/{task_id}.md"


def _shadowed(first: SkillPlace, others: list[SkillPlace]) -> Iterator[str]:
    for other in others:
        if os.path.realpath(other.folder) != os.path.realpath(first.folder):
            yield f"{other.path} is not used: {first.path} comes before it"


def _require_file(folder: Path, place: SkillPlace) -> None:
    """In exactly these letters, even where the disk does not mind."""
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError as error:
        raise OstlerError(Code.CONFIG_INVALID, f"{place.shown} cannot be read: {error.strerror}") from None
    if FILE not in names:
        near = next((name for name in names if name.upper() == FILE.upper()), None)
        message = f"{place.shown}/{near} must be called {FILE}" if near else f"{place.shown} has no {FILE}"
        raise OstlerError(Code.SKILL_NOT_FOUND, message, "rename it" if near else "")


def _odd_matter(place: SkillPlace, matter: FrontMatter) -> Iterator[str]:
    if (document := matter.document) is None:
        yield f"{place.path}:1: no front matter, so no description"
        return
    named = matter.values.get("name")
    if named is not None and str(named) != place.name:
        line = document.lines["name",]
        yield f"{place.path}:{line}: named {named!r:.80}, but its directory is {place.name}"
    if not _words(matter.values.get("description")):
        yield f"{place.path}:{document.lines.get(('description',), 1)}: no description"


def _squad(place: SkillPlace, matter: FrontMatter, settings: SkillsSettings) -> str | None:
    """What the settings say, else the front matter, its `metadata` included."""
    if place.name in settings.foundation:
        return None
    for squad, names in settings.squads.items():
        if place.name in names:
            return squad
    inner = matter.values.get("metadata")
    for table, path in ((matter.values, ("squad",)), (inner, ("metadata", "squad"))):
        if matter.document and isinstance(table, dict) and "squad" in table:
            return _checked_squad(cast("dict[str, Any]", table)["squad"], path, matter.document)
    return GENERAL


def _checked_squad(said: object, path: tuple[str, ...], document: Document) -> str | None:
    try:
        return convert(said, FolderName | None)
    except ValidationError:
        raise document.error(path, f"{said!r:.80} is no squad; a squad is one word, or null") from None


def _words(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
