"""What Ostler wrote to a task's git directory, and what it has imported; an agent cannot write it."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from ostler.files.atomic import write_changed_projection

_FILE = "record.json"


class PrivateRecord(Struct, frozen=True, omit_defaults=True):
    """The refs of a task's git directory when Ostler last wrote or imported them."""

    refs: dict[str, str] = {}  # all, with object names
    own: dict[str, str] = {}  # those that the agent created
    head: str = ""  # `ref: NAME` or a commit
    index: str = ""  # hash of the index


def hash_index(content: bytes | None) -> str:
    """Return the hash of an index; empty if there is none."""
    return blake2b(content, digest_size=16).hexdigest() if content else ""


def read_record(place: Path) -> PrivateRecord:
    """Return the record; an empty one if there is none. A power cut can lose it, see importing.py."""
    try:
        return msgspec.json.decode((place / _FILE).read_bytes(), type=PrivateRecord)
    except (FileNotFoundError, msgspec.MsgspecError):
        return PrivateRecord()


def write_record(place: Path, record: PrivateRecord) -> None:
    write_changed_projection(place / _FILE, msgspec.json.encode(record))
