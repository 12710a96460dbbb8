"""The lock file: the content of each skill when a person last accepted it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from ostler.config.settings import SkillsSettings
from ostler.errors import Code, OstlerError
from ostler.files.atomic import write_atomic
from ostler.files.disk import to_disk_error
from ostler.skills.content import SkillContent
from ostler.skills.file import read_text
from ostler.skills.location import SkillLocation, locate_skill, resolve_folder
from ostler.skills.tree import compute_digest

LOCK = ".agents/skills.lock"

LockState = Literal["accepted", "new", "changed", "gone", "broken"]

_MAX_BYTES = 1 << 22
_READABLE = 0o644  # it is committed to the repository
_SOURCES = ("source", "origin", "url", "repository", "homepage")


class LockEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One accepted skill."""

    origin: str  # a URL if the skill has one, else its path
    path: str
    sha256: str


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    version: Literal[1]
    skills: dict[str, LockEntry]


def read_lock(root: Path) -> dict[str, LockEntry] | None:
    """Return the accepted skills by name; None without a lock file; raises OstlerError for a damaged one."""
    home, name = (root / LOCK).parent, (root / LOCK).name
    if not (home / name).exists():
        return None
    text = read_text(home, name, _MAX_BYTES, LOCK)
    try:
        return msgspec.json.decode(text, type=_File).skills
    except msgspec.MsgspecError as error:
        hint = "delete it, then run ostler skills check --accept"
        raise OstlerError(Code.CONFIG_INVALID, f"{LOCK} cannot be read: {error}", hint) from None


def write_lock(root: Path, skills: dict[str, LockEntry]) -> None:
    """Write it sorted, so that one changed skill changes only its lines."""
    file = _File(1, dict(sorted(skills.items())))
    try:
        (root / LOCK).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise to_disk_error(root / LOCK, error) from error
    write_atomic(root / LOCK, msgspec.json.format(msgspec.json.encode(file)) + b"\n", mode=_READABLE)


def create_entry(location: SkillLocation, skill: SkillContent) -> LockEntry:
    """Return the entry for the current content of a skill."""
    return LockEntry(
        _find_origin(skill) or location.display_path,
        location.display_path,
        compute_digest(resolve_folder(location)),
    )


def compare_with_lock(location: SkillLocation, accepted: dict[str, LockEntry]) -> LockState:
    """Return the state of a skill relative to the lock file."""
    known = accepted.get(location.name)
    if known is None:
        return "new"
    same = known.path == location.display_path and known.sha256 == compute_digest(resolve_folder(location))
    return "accepted" if same else "changed"


def check_lock(name: str, root: Path, settings: SkillsSettings) -> str:
    """Return a warning for a skill that is not accepted, else ""; with skills.locked it is raised."""
    accepted = read_lock(root)
    if accepted is None and not settings.locked:
        return ""
    state = compare_with_lock(locate_skill(name, root, settings)[0], accepted or {})
    if state == "accepted":
        return ""
    problem = "has changed since it was accepted" if state == "changed" else f"is not in {LOCK}"
    if settings.locked:
        hint = f"review it, then run ostler skills check {name} --accept"
        raise OstlerError(Code.TASK_NOT_EXECUTABLE, f"the skill {name} {problem}", hint)
    return f"the skill {name} {problem}; see ostler skills check {name}"


def _find_origin(skill: SkillContent) -> str:
    inner = skill.meta.get("metadata")
    tables = (skill.meta, cast("dict[str, Any]", inner) if isinstance(inner, dict) else {})
    values = (table.get(key) for table in tables for key in _SOURCES)
    return next((url for url in values if isinstance(url, str) and "://" in url), "")
