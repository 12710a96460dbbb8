"""Signatures of failures: equal for the same failure, regardless of time and path."""

from __future__ import annotations

import hashlib
import re

from ostler.text import strip_control_characters

_LINES, _LENGTH = 200, 2000  # last lines of the output; characters per line
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


def compute_signature(text: str) -> str:
    """Return a hash of the text without paths, times, numbers and order."""
    lines = {_normalize(line) for line in text.splitlines()[-_LINES:]}
    return hashlib.sha256("\n".join(sorted(lines - {""})).encode("utf-8", "replace")).hexdigest()[:16]


def _normalize(line: str) -> str:
    named = _PATH.sub(_strip_directory, strip_control_characters(line[:_LENGTH]))
    plain = _CHANGING.sub("#", named)
    return _SPACE.sub(" ", _RULE.sub("", plain)).strip()


def _strip_directory(path: re.Match[str]) -> str:
    """Keep the file name: temporary directories differ between runs."""
    *directories, last = _SEPARATOR.split(path[0])
    return last if not directories or "." in last else "#"
