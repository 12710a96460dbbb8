"""A failure's signature: the same for the same failure, whenever and wherever it happens."""

from __future__ import annotations

import hashlib
import re

from ostler.engine.steps.shell import without_control

_LINES, _LENGTH = 200, 2000  # from the end, where a program says what went wrong; characters of each line
_PATH = re.compile(r"[^\s'\"`()<>,;=\[\]]++")
_CHANGING = re.compile(
    r"\b0x[0-9a-fA-F]++"
    r"|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    r"|\b(?=[a-f]*+\d)[0-9a-f]{7,64}\b"  # commits and other hashes
    r"|\d++"
)
_SEPARATOR = re.compile(r"[/\\]")
_SPACE = re.compile(r"\s+")
_RULE = re.compile(r"([=_*~.-])\1{2,}")


def signature_of(text: str) -> str:
    """Sixteen hexadecimal digits of what is left without paths, times, numbers and order."""
    lines = {_normal(line) for line in text.splitlines()[-_LINES:]}
    return hashlib.sha256("\n".join(sorted(lines - {""})).encode("utf-8", "replace")).hexdigest()[:16]


def _normal(line: str) -> str:
    named = _PATH.sub(_without_place, without_control(line[:_LENGTH]))
    plain = _CHANGING.sub("#", named)
    return _SPACE.sub(" ", _RULE.sub("", plain)).strip()


def _without_place(word: re.Match[str]) -> str:
    """A file's name tells what it is about; where it is, and a directory that was made for once, do not."""
    *places, last = _SEPARATOR.split(word[0])
    return last if not places or "." in last else "#"
