"""The values and names of refs as text: which of them a git directory of Ostler may contain."""

from __future__ import annotations

import os
import re
from functools import lru_cache

from ostler.git.refs import is_branch_name

SYMBOLIC = "ref: "
HEADS = "refs/heads/"
TAGS = "refs/tags/"
STASH = "refs/stash"
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_MAX_NAME_BYTES = 1024


def is_object_name(text: str) -> bool:
    """Return whether the text is a complete object name."""
    return _COMMIT.fullmatch(text) is not None


@lru_cache(maxsize=100_000)  # the same names are checked before and after every attempt
def is_ref_name(name: str) -> bool:
    """Return whether the name is a valid ref below refs/, by the rules of git check-ref-format."""
    if not name.startswith("refs/") or len(os.fsencode(name)) > _MAX_NAME_BYTES:
        return False
    return is_branch_name(name.removeprefix("refs/"))


def parse_packed_refs(text: bytes) -> dict[str, str]:
    """Return the refs of a packed-refs file; lines that are not a valid ref are left out."""
    lines = (line.partition(b" ") for line in text.split(b"\n") if line[:1] not in (b"#", b"^", b""))
    pairs = ((os.fsdecode(name), value.decode("ascii", "replace")) for value, _, name in lines)
    return {name: value for name, value in pairs if is_object_name(value) and is_ref_name(name)}


def parse_ref(text: bytes) -> str:
    """Return the value of a loose ref: an object name, or `ref: NAME`; empty if it is neither."""
    value = os.fsdecode(text).strip()
    if value.startswith("ref:"):
        name = value.removeprefix("ref:").strip()
        return f"{SYMBOLIC}{name}" if is_ref_name(name) else ""
    return value if is_object_name(value) else ""


def resolve_ref(refs: dict[str, str], value: str) -> str:
    """Return the object name behind a value; empty if a symbolic ref leads nowhere."""
    for _ in range(5):
        if not value.startswith(SYMBOLIC):
            return value
        value = refs.get(value.removeprefix(SYMBOLIC), "")
    return ""


def drop_conflicting(own: dict[str, str], others: dict[str, str]) -> dict[str, str]:
    """Return the refs without those whose name is a directory of another one, or below one."""
    folders = {folder for name in others for folder in _list_folders(name)}
    return {
        name: value
        for name, value in own.items()
        if name not in folders and not any(folder in others for folder in _list_folders(name))
    }


def _list_folders(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(2, len(parts))]
