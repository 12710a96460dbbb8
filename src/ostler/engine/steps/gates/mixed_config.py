"""Restores the parts about tests in files that also hold dependencies and metadata."""

from __future__ import annotations

import json
import re
import tomllib
from difflib import unified_diff
from typing import Any, cast

_SECTION = re.compile(r"^\[+([^\[\]]+)\]+[ \t]*(?:#.*)?$", re.MULTILINE)
_TEST_SECTION = re.compile(
    r"tool[.:]pytest|pytest$|tool\.coverage|coverage:|tool\.tox|tool\.nox|tool\.hatch\.envs|tool\.poe|tool\.pdm\.scripts"
    r"|tool\.taskipy|aliases$|testenv"
)
_PACKAGE_KEYS = ("jest", "vitest", "mocha", "ava", "c8", "nyc", "tap", "karma")
_ABOUT_TESTS = re.compile(r"test|skip|surefire|failsafe|exclude|harness|ignore", re.IGNORECASE)


def restore_test_parts(name: str, before: bytes | None, after: bytes) -> bytes:
    """Return the new content with the parts about tests as they were before; None: the file is new."""
    old, new = (before or b"").decode("utf-8", "replace"), after.decode("utf-8", "replace")
    match name.rpartition("/")[2]:
        case "package.json":
            restored = _restore_package(old or "{}", new)
        case "pyproject.toml":
            restored = _restore_pyproject(old, new)
        case "setup.cfg":
            restored = _restore_sections(old, new)
        case _:
            restored = old if before is not None and _mentions_tests(old, new) else new
    return after if restored == new else restored.encode()


def _restore_package(old: str, new: str) -> str:
    try:
        before, after = (cast("dict[str, Any]", json.loads(text)) for text in (old, new))
        restored = {name: value for name, value in after.items() if name not in _PACKAGE_KEYS}
        restored |= {name: before[name] for name in _PACKAGE_KEYS if name in before}
        # Scripts that the work has added stay: the others do not call them.
        scripts = {**after.get("scripts", {}), **before.get("scripts", {})}
    except (ValueError, TypeError, AttributeError):
        return old
    if scripts:
        restored["scripts"] = scripts
    return new if restored == after else json.dumps(restored, indent=2)


def _restore_pyproject(old: str, new: str) -> str:
    restored = _restore_sections(old, new)
    wanted = _read_pytest_table(old)
    return restored if _read_pytest_table(restored) == wanted else old


def _read_pytest_table(text: str) -> object:
    try:
        tool = tomllib.loads(text).get("tool", {})
        return tool.get("pytest")
    except (tomllib.TOMLDecodeError, AttributeError):
        return None


def _restore_sections(old: str, new: str) -> str:
    before, after = _split_sections(old), _split_sections(new)
    if [one for one in before if _is_about_tests(one)] == [one for one in after if _is_about_tests(one)]:
        return new
    kept = [text for name, text in after if not _TEST_SECTION.match(name)]
    return "".join((*kept, "\n", *(text for name, text in before if _TEST_SECTION.match(name))))


def _is_about_tests(section: tuple[str, str]) -> bool:
    return _TEST_SECTION.match(section[0]) is not None


def _split_sections(text: str) -> list[tuple[str, str]]:
    """Return the sections with their names, in order; the text before the first one has no name."""
    text = text if text.endswith("\n") else f"{text}\n"
    starts = [*_SECTION.finditer(text)]
    ends = [*(found.start() for found in starts), len(text)]
    named = [
        (found[1].strip(), text[found.start() : end]) for found, end in zip(starts, ends[1:], strict=True)
    ]
    return [("", text[: ends[0]]), *named]


def _mentions_tests(old: str, new: str) -> bool:
    changed = unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
    return any(_ABOUT_TESTS.search(line) for line in [*changed][2:] if not line.startswith("@@"))
