"""The lock file: what each skill was when a person last looked at it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from ostler.config.settings import SkillsSettings
from ostler.errors import Code, OstlerError
from ostler.files.atomic import write_atomic
from ostler.files.disk import disk_error
from ostler.prompt.skill import SkillContent
from ostler.prompt.skill_file import read_text
from ostler.prompt.skill_place import SkillPlace, locate, real_folder
from ostler.prompt.skill_tree import digest_of

LOCK = ".agents/skills.lock"

State = Literal["accepted", "new", "changed", "gone", "broken"]

_LARGEST = 1 << 22
_READABLE = 0o644  # it is meant to be committed
_SOURCES = ("source", "origin", "url", "repository", "homepage")


class Locked(Struct, frozen=True, forbid_unknown_fields=True):
    """One skill as it was accepted."""

    origin: str  # an address, when the skill names one; else its path
    path: str
    sha256: str


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    version: Literal[1]
    skills: dict[str, Locked]


def read_lock(root: Path) -> dict[str, Locked] | None:
    """What was accepted, by name; None without a lock file. Raises OstlerError for one that is damaged."""
    home, name = (root / LOCK).parent, (root / LOCK).name
    if not (home / name).exists():
        return None
    text = read_text(home, name, _LARGEST, LOCK)
    try:
        return msgspec.json.decode(text, type=_File).skills
    except msgspec.MsgspecError as error:
        hint = "ostler skills check --accept writes it anew, once it is removed"
        raise OstlerError(Code.CONFIG_INVALID, f"{LOCK} cannot be read: {error}", hint) from None


def write_lock(root: Path, skills: dict[str, Locked]) -> None:
    """Write it sorted, so that a change of one skill changes its lines alone."""
    file = _File(1, dict(sorted(skills.items())))
    try:
        (root / LOCK).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(root / LOCK, error) from error
    write_atomic(root / LOCK, msgspec.json.format(msgspec.json.encode(file)) + b"\n", mode=_READABLE)


def lock_of(place: SkillPlace, skill: SkillContent) -> Locked:
    """The skill as it is now."""
    return Locked(_origin(skill) or place.shown, place.shown, digest_of(real_folder(place)))


def compare(place: SkillPlace, accepted: dict[str, Locked]) -> State:
    """How the skill stands beside what was accepted."""
    known = accepted.get(place.name)
    if known is None:
        return "new"
    same = known.path == place.shown and known.sha256 == digest_of(real_folder(place))
    return "accepted" if same else "changed"


def changed_since_lock(name: str, root: Path, settings: SkillsSettings) -> str:
    """A warning when the skill is not as it was accepted, else nothing; with skills.locked it is raised."""
    accepted = read_lock(root)
    if accepted is None and not settings.locked:
        return ""
    state = compare(locate(name, root, settings)[0], accepted or {})
    if state == "accepted":
        return ""
    said = "has changed since it was accepted" if state == "changed" else f"is not in {LOCK}"
    if settings.locked:
        hint = f"look at it, then: ostler skills check {name} --accept"
        raise OstlerError(Code.TASK_NOT_EXECUTABLE, f"the skill {name} {said}", hint)
    return f"the skill {name} {said}; ostler skills check {name} says more"


def _origin(skill: SkillContent) -> str:
    inner = skill.meta.get("metadata")
    tables = (skill.meta, cast("dict[str, Any]", inner) if isinstance(inner, dict) else {})
    said = (table.get(key) for table in tables for key in _SOURCES)
    return next((url for url in said if isinstance(url, str) and "://" in url), "")
