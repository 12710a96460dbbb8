"""Skills written for a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ostler.config.settings import SkillsSettings

DEFAULT = SkillsSettings()
BODY = "# Copywriting\n\nYou write copy.\n\n---\n\nShort sentences."
SKILL = f"---\nname: copywriting\ndescription: Writes copy\n---\n\n{BODY}\n"


def write_skill(
    root: Path,
    name: str = "copywriting",
    text: str | bytes = SKILL,
    references: Mapping[str, str | bytes] | None = None,
    place: str = ".agents/skills",
) -> Path:
    """Write one skill and return its directory."""
    folder = root / place / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(_bytes(text))
    for file, content in (references or {}).items():
        (folder / "references").mkdir(exist_ok=True)
        (folder / "references" / file).write_bytes(_bytes(content))
    return folder


def matter(lines: str, body: str = "Body") -> str:
    return f"---\n{lines}\n---\n{body}\n"


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text
