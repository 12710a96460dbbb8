"""Lists, shows and checks the skills of a project."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ostler.config.settings import DocumentsSettings, SkillsSettings
from ostler.errors import OstlerError
from ostler.project.inspection.skill_scripts import check_scripts
from ostler.skills.availability import check_availability, read_scripts
from ostler.skills.content import SkillContent, load_skill, load_skill_content, make_output_path
from ostler.skills.finding import LintFinding
from ostler.skills.lint import lint_skill
from ostler.skills.location import SkillLocation, find_skills, locate_skill
from ostler.skills.lock import LockEntry, LockState, compare_with_lock, create_entry, read_lock, write_lock


class ListedSkill(Struct, frozen=True):
    """A skill, or the error of a broken one."""

    name: str
    path: str
    content: SkillContent | None
    problem: str = ""


class SkillDetails(Struct, frozen=True):
    """A skill with its output path and lock state."""

    content: SkillContent
    output: str  # path of its documents
    state: LockState | None  # None: the project has no lock file
    current: LockEntry


class CheckedSkill(Struct, frozen=True):
    """The state of a skill relative to the lock file, with warnings and findings."""

    name: str
    path: str
    state: LockState
    problem: str = ""
    warnings: tuple[str, ...] = ()
    findings: tuple[LintFinding, ...] = ()
    availability: tuple[LintFinding, ...] = ()  # what agents cannot use, and rules of the format


def list_skills(root: Path, settings: SkillsSettings) -> list[ListedSkill]:
    """Return all skills sorted by name, including broken ones."""
    return [_load_listed(place, settings) for place in find_skills(root, settings)]


def show_skill(name: str, root: Path, settings: SkillsSettings, documents: DocumentsSettings) -> SkillDetails:
    """Return one skill; raises OstlerError when it is missing or broken."""
    content = load_skill_content(name, root, settings)
    location, accepted = locate_skill(name, root, settings)[0], read_lock(root)
    state = compare_with_lock(location, accepted) if accepted is not None else None
    return SkillDetails(
        content, make_output_path(content, "TASK", documents), state, create_entry(location, content)
    )


def check_skills(
    root: Path, settings: SkillsSettings, name: str = "", environ: Mapping[str, str] = {}
) -> list[CheckedSkill]:
    """Check all skills, or the one with this name; deleted ones come last."""
    accepted = read_lock(root) or {}
    if name and name not in accepted:
        locate_skill(name, root, settings)
    locations = find_skills(root, settings)
    gone = sorted(accepted.keys() - {location.name for location in locations})
    selected = [place for place in locations if place.name == (name or place.name)]
    checked = [_check_skill(place, root, settings, accepted, environ) for place in selected]
    return checked + [CheckedSkill(one, accepted[one].path, "gone") for one in gone if one == (name or one)]


def accept_skills(root: Path, settings: SkillsSettings, checked: list[CheckedSkill]) -> list[CheckedSkill]:
    """Record the current content of these skills, except broken ones, and keep other entries."""
    accepted = dict(read_lock(root) or {})
    for one in checked:
        if one.state == "gone":
            del accepted[one.name]
        elif one.state != "broken":
            location = locate_skill(one.name, root, settings)[0]
            accepted[one.name] = create_entry(location, load_skill(location, settings))
    write_lock(root, accepted)
    here = [one for one in checked if one.state != "gone"]
    return [one if one.state == "broken" else replace(one, state="accepted") for one in here]


def _load_listed(location: SkillLocation, settings: SkillsSettings) -> ListedSkill:
    try:
        return ListedSkill(location.name, location.path, load_skill(location, settings))
    except OstlerError as error:
        return ListedSkill(location.name, location.path, None, error.message)


def _check_skill(
    location: SkillLocation,
    root: Path,
    settings: SkillsSettings,
    accepted: dict[str, LockEntry],
    environ: Mapping[str, str],
) -> CheckedSkill:
    try:
        content = load_skill_content(location.name, root, settings)
        state = compare_with_lock(location, accepted)
        findings = tuple(lint_skill(location, {one.path for one in content.left_out}))
        availability = (
            *check_availability(location, content, settings),
            *check_scripts(read_scripts(content, location.display_path), root, environ),
        )
    except OstlerError as error:
        return CheckedSkill(location.name, location.path, "broken", error.message)
    return CheckedSkill(location.name, location.path, state, "", content.warnings, findings, availability)
