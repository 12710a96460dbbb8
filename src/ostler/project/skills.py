"""The skills of a project as a person looks at them: listed, shown, and held against the lock file."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import DocumentsSettings, SkillsSettings
from ostler.errors import OstlerError
from ostler.prompt.skill import SkillContent, load_skill_at, load_skill_content, output_path
from ostler.prompt.skill_lint import Finding, lint_skill
from ostler.prompt.skill_lock import Locked, State, compare, lock_of, read_lock, write_lock
from ostler.prompt.skill_place import SkillPlace, find_skills, locate


class Listed(Struct, frozen=True):
    """A skill, or why it cannot be one."""

    name: str
    path: str
    content: SkillContent | None
    problem: str = ""


class Shown(Struct, frozen=True):
    """A skill in full."""

    content: SkillContent
    output: str  # where its documents go
    state: State | None  # none: the project has no lock file
    now: Locked


class Checked(Struct, frozen=True):
    """How a skill stands beside the lock file, and what in it deserves a look."""

    name: str
    path: str
    state: State
    problem: str = ""
    warnings: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


def list_skills(root: Path, settings: SkillsSettings) -> list[Listed]:
    """Every skill by name, the broken ones too."""
    return [_listed(place, settings) for place in find_skills(root, settings)]


def show_skill(name: str, root: Path, settings: SkillsSettings, documents: DocumentsSettings) -> Shown:
    """One skill; raises OstlerError when it is not there, or broken."""
    content = load_skill_content(name, root, settings)
    place, accepted = locate(name, root, settings)[0], read_lock(root)
    state = compare(place, accepted) if accepted is not None else None
    return Shown(content, output_path(content, "TASK", documents), state, lock_of(place, content))


def check_skills(root: Path, settings: SkillsSettings, name: str = "") -> list[Checked]:
    """All of them, or the one of that name; those that are gone at the end."""
    accepted = read_lock(root) or {}
    if name and name not in accepted:
        locate(name, root, settings)
    places = find_skills(root, settings)
    gone = sorted(accepted.keys() - {place.name for place in places})
    wanted = [place for place in places if place.name == (name or place.name)]
    checked = [_checked(place, root, settings, accepted) for place in wanted]
    return checked + [Checked(one, accepted[one].path, "gone") for one in gone if one == (name or one)]


def accept_skills(root: Path, settings: SkillsSettings, checked: list[Checked]) -> list[Checked]:
    """Write down how these stand now, all but the broken ones; what is said of others stays."""
    accepted = dict(read_lock(root) or {})
    for one in checked:
        if one.state == "gone":
            del accepted[one.name]
        elif one.state != "broken":
            place = locate(one.name, root, settings)[0]
            accepted[one.name] = lock_of(place, load_skill_at(place, settings))
    write_lock(root, accepted)
    here = [one for one in checked if one.state != "gone"]
    return [one if one.state == "broken" else replace(one, state="accepted") for one in here]


def _listed(place: SkillPlace, settings: SkillsSettings) -> Listed:
    try:
        return Listed(place.name, place.path, load_skill_at(place, settings))
    except OstlerError as error:
        return Listed(place.name, place.path, None, error.message)


def _checked(place: SkillPlace, root: Path, settings: SkillsSettings, accepted: dict[str, Locked]) -> Checked:
    try:
        content = load_skill_content(place.name, root, settings)
        state = compare(place, accepted)
        findings = tuple(lint_skill(place))
    except OstlerError as error:
        return Checked(place.name, place.path, "broken", error.message)
    return Checked(place.name, place.path, state, "", content.warnings, findings)
