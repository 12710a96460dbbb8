"""Commit messages with trailers: written by us, and found again by them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ostler.git.command import run
from ostler.git.repository import Repository

_SPACE = re.compile(r"[\x00-\x20\x7f]+")


def write_message(subject: str, trailers: Mapping[str, str]) -> bytes:
    """A subject, a blank line, one line for each trailer."""
    lines = [one_line(subject), "", *(f"{name}: {one_line(value)}" for name, value in trailers.items())]
    return ("\n".join(lines) + "\n").encode(errors="replace")


def one_line(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def find_commit(repository: Repository, base: str, tip: str, name: str, value: str) -> str | None:
    """The newest commit between base and tip whose last paragraph has this trailer."""
    if base == tip:
        return None
    wanted = f"{name}: {one_line(value)}"
    search = ("--fixed-strings", f"--grep={wanted}", "--no-commit-header", "--format=%H%n%B%x00")
    answer = run(repository, "rev-list", *search, f"{base}..{tip}", "--").stdout
    for entry in answer.decode(errors="replace").split("\0"):
        commit, _, message = entry.strip("\n").partition("\n")
        if wanted in message.rpartition("\n\n")[2].splitlines():
            return commit
    return None


def is_ahead(repository: Repository, base: str, tip: str) -> bool:
    """Whether the tip has a commit that the base has not."""
    return bool(run(repository, "rev-list", "--max-count=1", f"{base}..{tip}", "--").stdout)
