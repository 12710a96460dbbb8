"""Finds changed files that could end or replace the test runner instead of passing its tests.

They are only a reason to run the command once more with failing tests: see `disabled`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from ostler.engine.steps.gates.file_kinds import (
    get_suffix,
    is_shell_script,
    is_test_configuration,
    is_test_file,
)
from ostler.git.commit.variant import TreeFile, read_blobs
from ostler.git.repository import Repository

Files = Mapping[str, TreeFile]

_MAX_BYTES = 1 << 20  # larger files are data
_DOCUMENTS = frozenset({".md", ".rst", ".txt", ".svg", ".csv", ".html", ".css", ".lock"})
# Directories of programs and of installed packages: a commit that has them replaces those of the user.
_ENVIRONMENTS = frozenset({".venv", "venv", "env", "node_modules", "site-packages", ".tox", ".nox"})
_METADATA = (".egg-info", ".dist-info", ".pth")  # can register plugins of the runner
_RUNNERS = frozenset({
    "pytest", "_pytest", "pluggy", "iniconfig", "unittest", "doctest", "nose", "nose2", "coverage", "xdist",
    "pytest_cov", "tox", "nox", "mock", "jest", "vitest", "mocha",
})  # fmt: skip
_TOKENS = re.compile(
    rb"\b_?exit\b|SystemExit|\b(?:exec[lv]p?e?|quit|abort)\s*\(|\batexit\b|\bctypes\b|\bsignal\b"
    rb"|\bpy\.?test\b|_pytest|\bunittest\b|\bnode:test\b|\bjest\b|\bvitest\b|\bmocha\b"
    rb"|sys\.(?:modules|argv|orig_argv|settrace|setprofile|meta_path|_getframe)|\bos\.kill\b|builtins"
    rb"|process\.(?:kill|argv|on)\b",
    re.IGNORECASE,
)
_CALLERS = frozenset({"package.json", "pyproject.toml", "setup.cfg"})


def find_suspects(repository: Repository, before: Files, after: Files, command: str) -> tuple[str, ...]:
    """Return the changed files that a test runner could be influenced with, apart from tests."""
    changed = [name for name, file in after.items() if before.get(name) != file and not _is_check(name)]
    if not changed:
        return ()
    callers = _read_callers(repository, before, command)
    contents = _read_files(repository, before, after, changed)
    return tuple(
        name
        for name in changed
        if _replaces_program(name)
        or name.rpartition("/")[2].encode("utf-8", "replace") in callers
        or _TOKENS.search(_find_new_lines(name, before, after, contents))
    )


def _is_check(name: str) -> bool:
    document = get_suffix(name) in _DOCUMENTS and not _replaces_program(name)
    return document or is_test_file(name) or is_test_configuration(name)


def _replaces_program(name: str) -> bool:
    parts = PurePosixPath(name).parts
    inside = any(part in _ENVIRONMENTS or part.endswith(_METADATA) for part in parts)
    return inside or any(part.partition(".")[0] in _RUNNERS for part in parts)


def _read_callers(repository: Repository, before: Files, command: str) -> bytes:
    """Return the command, and the files of the base that can start other programs for it."""
    names = [
        name
        for name in before
        if is_shell_script(name) or is_test_configuration(name) or name.rpartition("/")[2] in _CALLERS
    ]
    texts = read_blobs(repository, (before[name].blob for name in names)) if names else {}
    return b"\n".join((command.encode("utf-8", "replace"), *texts.values()))


def _read_files(repository: Repository, before: Files, after: Files, names: list[str]) -> dict[str, bytes]:
    files = [files[name] for name in names for files in (before, after) if name in files]
    blobs = [file.blob for file in files if file.is_regular]
    return read_blobs(repository, blobs) if blobs else {}


def _find_new_lines(name: str, before: Files, after: Files, contents: Mapping[str, bytes]) -> bytes:
    new = contents.get(after[name].blob, b"")
    if len(new) > _MAX_BYTES:
        return b""
    old = contents.get(before[name].blob, b"") if name in before else b""
    known = set(old.splitlines())
    return b"\n".join(line for line in new.splitlines() if line not in known)
