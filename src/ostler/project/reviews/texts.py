"""The lines of files at a commit, as they are shown: without secrets, and not longer than a limit."""

from __future__ import annotations

from collections.abc import Iterable

from ostler.git.compare.blobs import find_objects
from ostler.git.repository import Repository
from ostler.project.reviews.files import LONGEST_TEXT
from ostler.secrets.redact import redact_lines


def read_texts(repository: Repository, blobs: Iterable[str]) -> dict[str, list[str]]:
    """Return the lines of those blobs that are texts of at most 2 MiB. Raises GitError."""
    sizes = find_objects(repository, dict.fromkeys(one for one in blobs if one)).sizes
    short = [blob for blob, size in sizes.items() if size <= LONGEST_TEXT]
    found = find_objects(repository, contents=short).contents
    return {blob: split_text(_decode(data)) for blob, data in found.items() if b"\0" not in data}


def split_text(text: str) -> list[str]:
    """Return the lines of a text as git counts them, without their ends."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if not lines[-1] else lines


def _decode(data: bytes) -> str:
    return redact_lines(data).decode("utf-8", "replace")
