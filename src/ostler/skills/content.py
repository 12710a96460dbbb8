"""Loads skills: instructions for one kind of work.

A skill is a directory with a SKILL.md, by the public Agent Skills format: front matter, then the body. A
prompt gets the body, the files references/*.md and a tree of all files, which agents read on request.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, ValidationError, convert

from ostler.config.settings import DocumentsSettings, FolderName, SkillsSettings
from ostler.errors import Code, OstlerError
from ostler.skills.directory import LeftOutFile, SkillFile, describe_left_out, read_directory
from ostler.skills.file import read_text
from ostler.skills.links import check_links
from ostler.skills.location import FILE, SkillLocation, find_skills, locate_skill, resolve_folder
from ostler.skills.references import FOLDER as REFERENCES
from ostler.skills.references import Reference, read_references
from ostler.text import describe_os_error

if TYPE_CHECKING:
    from ostler.files.front_matter import FrontMatter
    from ostler.files.yaml import Document

__all__ = ["Reference", "SkillContent", "find_skills", "load_skill", "load_skill_content", "make_output_path"]

GENERAL = "general"
_OWN_KEYS = ("name", "description")
_DEFAULT_SUFFIX = ".md"
_SUFFIX = re.compile(r"\.?([a-z0-9]{1,16})")
_DEFAULTS = SkillsSettings()


class SkillContent(Struct, frozen=True):
    """A skill that is ready for a prompt."""

    name: str  # the name of its directory
    description: str
    body: str
    references: tuple[Reference, ...] = ()
    squad: str | None = GENERAL  # None: a foundation skill, whose output is a context file
    path: str = ""  # of its SKILL.md
    meta: dict[str, Any] = {}  # all other front matter
    warnings: tuple[str, ...] = ()
    files: tuple[SkillFile, ...] = ()  # that agents can read, SKILL.md and references included
    left_out: tuple[LeftOutFile, ...] = ()
    folder: str = ""  # the directory itself, absolute
    suffix: str = _DEFAULT_SUFFIX  # of its documents

    @property
    def has_more_files(self) -> bool:
        """Whether the directory has files that are not in the prompt."""
        in_prompt = {FILE, *(f"{REFERENCES}/{one.name}" for one in self.references)}
        return bool(self.left_out) or any(one.path not in in_prompt for one in self.files)

    @property
    def reference_contents(self) -> tuple[Reference, ...]:
        """The seed's name of the references, each with path and content."""
        return self.references

    @property
    def reference_files(self) -> tuple[str, ...]:
        """The paths of the references."""
        return tuple(one.path for one in self.references)


def load_skill_content(name: str, root: Path, settings: SkillsSettings = _DEFAULTS) -> SkillContent:
    """Return the skill with this name; raises OstlerError: SKILL_NOT_FOUND, or an error of its SKILL.md."""
    first, *others = locate_skill(name, root, settings)
    return load_skill(first, settings, tuple(_warn_shadowed(first, others)))


def load_skill(
    location: SkillLocation, settings: SkillsSettings, warnings: tuple[str, ...] = ()
) -> SkillContent:
    """Return the skill at this location."""
    from ostler.files.front_matter import split_front_matter  # noqa: PLC0415  (few calls need YAML)

    folder = resolve_folder(location)
    _require_file(folder, location)
    text = read_text(folder, FILE, settings.max_skill_bytes, location.path)
    matter = split_front_matter(text, location.path)
    references, unread = read_references(folder, location.display_path, settings)
    directory = read_directory(folder, settings)
    return SkillContent(
        name=location.name,
        description=_to_one_line(matter.values.get("description")),
        body=matter.body,
        references=references,
        squad=_find_squad(location, matter, settings),
        path=location.path,
        meta={key: value for key, value in matter.values.items() if key not in _OWN_KEYS},
        warnings=(
            *warnings,
            *matter.warnings,
            *_check_front_matter(location, matter),
            *map(str, check_links(folder, FILE, location.path, matter.body, matter.lines_before)),
            *unread,
            *describe_left_out(directory, location.display_path),
        ),
        files=directory.files,
        left_out=directory.left_out,
        folder=str(folder),
        suffix=_find_suffix(matter),
    )


def make_output_path(skill: SkillContent, task_id: str, settings: DocumentsSettings) -> str:
    """Return the output path of a task's document, relative to the project."""
    if skill.squad is None:
        return f"{settings.context}/{skill.name}.md"
    return f"{settings.outputs}/{skill.squad}/{skill.name}/{task_id}{skill.suffix}"


def _warn_shadowed(first: SkillLocation, others: list[SkillLocation]) -> Iterator[str]:
    for other in others:
        if os.path.realpath(other.folder) != os.path.realpath(first.folder):
            yield f"{other.path} is not used: {first.path} has precedence"


def _require_file(folder: Path, location: SkillLocation) -> None:
    """The name is case-sensitive, even on other file systems."""
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError as error:
        raise OstlerError(
            Code.CONFIG_INVALID, f"{location.display_path} cannot be read: {describe_os_error(error)}"
        ) from None
    if FILE not in names:
        near = next((name for name in names if name.upper() == FILE.upper()), None)
        message = (
            f"{location.display_path}/{near} must be named {FILE}"
            if near
            else f"{location.display_path} has no {FILE}"
        )
        raise OstlerError(Code.SKILL_NOT_FOUND, message, "rename it" if near else "")


def _check_front_matter(location: SkillLocation, matter: FrontMatter) -> Iterator[str]:
    if (document := matter.document) is None:
        yield f"{location.path}:1: no front matter, so no description"
        return
    named = matter.values.get("name")
    if named is not None and str(named) != location.name:
        line = document.lines["name",]
        yield f"{location.path}:{line}: named {named!r:.80}, but its directory is {location.name}"
    if not _to_one_line(matter.values.get("description")):
        yield f"{location.path}:{document.lines.get(('description',), 1)}: no description"


def _find_squad(location: SkillLocation, matter: FrontMatter, settings: SkillsSettings) -> str | None:
    """Return the squad of the settings, else of the front matter or its `metadata`."""
    if location.name in settings.foundation:
        return None
    for squad, names in settings.squads.items():
        if location.name in names:
            return squad
    inner = matter.values.get("metadata")
    for table, path in ((matter.values, ("squad",)), (inner, ("metadata", "squad"))):
        if matter.document and isinstance(table, dict) and "squad" in table:
            return _parse_squad(cast("dict[str, Any]", table)["squad"], path, matter.document)
    return GENERAL


def _parse_squad(value: object, path: tuple[str, ...], document: Document) -> str | None:
    try:
        return convert(value, FolderName | None)
    except ValidationError:
        raise document.error(path, f"invalid squad {value!r:.80}: expected one word, or null") from None


def _find_suffix(matter: FrontMatter) -> str:
    """Return the suffix of `metadata.output`, such as docx; raises OstlerError for another value."""
    inner = matter.values.get("metadata")
    if matter.document is None or not isinstance(inner, dict) or "output" not in inner:
        return _DEFAULT_SUFFIX
    value = cast("dict[str, Any]", inner)["output"]
    found = _SUFFIX.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        message = f"invalid output {value!r:.80}: expected the suffix of a file, such as docx"
        raise matter.document.error(("metadata", "output"), message)
    return f".{found[1]}"


def _to_one_line(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
