"""Commit messages with trailers, and the search for commits by trailer."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ostler.git.repository import Repository
from ostler.git.run.command import run_git
from ostler.secrets.redact import redact_bytes

_SPACE = re.compile(r"[\x00-\x20\x7f]+")


def build_message(subject: str, trailers: Mapping[str, str]) -> bytes:
    """Return a message: the subject, a blank line, and one line per trailer."""
    lines = [
        to_header_line(subject),
        "",
        *(f"{name}: {to_header_line(value)}" for name, value in trailers.items()),
    ]
    return redact_bytes(("\n".join(lines) + "\n").encode(errors="replace"))


def to_header_line(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def find_commit_by_trailer(repository: Repository, base: str, tip: str, name: str, value: str) -> str | None:
    """Return the newest commit between base and tip that has this trailer in its last paragraph."""
    if base == tip:
        return None
    trailer = f"{name}: {to_header_line(value)}"
    search = ("--fixed-strings", f"--grep={trailer}", "--no-commit-header", "--format=%H%n%B%x00")
    output = run_git(repository, "rev-list", *search, f"{base}..{tip}", "--").stdout
    for entry in output.decode(errors="replace").split("\0"):
        commit, _, message = entry.strip("\n").partition("\n")
        if trailer in message.rpartition("\n\n")[2].splitlines():
            return commit
    return None


def find_start_commit(repository: Repository, task: str, tip: str) -> str:
    """Return the commit before the first one of a task, on the way to its tip; empty if it has none."""
    search = ("--first-parent", "--fixed-strings", f"--grep=Task-Id: {to_header_line(task)}", "--format=%P")
    output = run_git(repository, "rev-list", "--no-commit-header", *search, tip, "--").stdout
    parents = [line.split()[0] for line in output.decode().splitlines() if line.strip()]
    return parents[-1] if parents else ""


def is_ahead(repository: Repository, base: str, tip: str) -> bool:
    """Return whether the tip has a commit that the base does not have."""
    return bool(run_git(repository, "rev-list", "--max-count=1", f"{base}..{tip}", "--").stdout)
