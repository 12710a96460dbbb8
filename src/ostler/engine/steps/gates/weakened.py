"""Detects work that passes a gate by weakening its checks.

The command runs once more on the same commit, with tests, their configuration and the scripts of the gate
as of the base of the task. Tests that are gone, skipped or failing there are reported.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ostler.engine.steps.gates.file_kinds import (
    MIXED_CONFIGURATION,
    get_suffix,
    is_shell_script,
    is_test_configuration,
    is_test_file,
    list_named_scripts,
    split_commands,
    split_words,
)
from ostler.engine.steps.gates.mixed_config import restore_test_parts
from ostler.engine.steps.gates.reports import TestOutcome, TestResults
from ostler.engine.steps.gates.suspects import find_suspects
from ostler.git.commit.variant import TreeFile, list_tree, read_blobs, write_blobs
from ostler.git.repository import Repository
from ostler.model.command import Exit

Files = Mapping[str, TreeFile]
Changes = dict[str, TreeFile | None]

_COVERAGE = re.compile(r"coverage|fail[-_]under|threshold", re.IGNORECASE)
# fmt: off
_RUNNERS = frozenset({
    "python", "python3", "-m", "npx", "uv", "uvx", "poetry", "pdm", "hatch", "run", "pnpm", "yarn", "bunx",
    "exec",
})
_LINTERS = frozenset({
    "ruff", "flake8", "pylint", "black", "isort", "mypy", "pyright", "basedpyright", "eslint", "prettier",
    "tsc", "biome", "stylelint", "gofmt", "staticcheck", "golangci-lint", "rubocop", "shellcheck",
    "compileall", "markdownlint", "yamllint", "lint-imports", "vale",
})
# fmt: on
_NO_TESTS = re.compile(r"no tests? (?:ran|collected|found)|no test files", re.IGNORECASE)
_TESTS_IN_SOURCES = {
    ".rs": re.compile(rb"#\[(?:\w+::)*test\b|#\[cfg\(test\)\]|^\s*//[/!]\s*```", re.MULTILINE),
    ".py": re.compile(rb"^\s*(>>> .*\S)", re.MULTILINE),
}
_ENTRY_FILES = frozenset({"makefile", "gnumakefile", "justfile", "noxfile.py", "tox.ini", "rakefile"})


class ChangedChecks(Struct, frozen=True):
    """What a task changed that a gate depends on."""

    files: Mapping[str, TreeFile | None] = {}  # of the checks, as of the base; None: the file did not exist
    suspects: tuple[str, ...] = ()  # other files that can disable tests
    sources: tuple[str, ...] = ()  # source files that contain tests in the base

    @property
    def needs_comparison(self) -> bool:
        """Whether the tests have to be compared with those of the base."""
        return bool(self.files or self.sources)


def find_changed_checks(repository: Repository, base: str, commit: str, command: str) -> ChangedChecks:
    """Return the changed files that can weaken the checks of a command."""
    if _is_linter(command):
        return ChangedChecks()
    before, after = list_tree(repository, base), list_tree(repository, commit)
    changes = _find_changes(repository, before, after, command)
    suspects = find_suspects(repository, before, after, command)
    return ChangedChecks(changes, suspects, _find_sources_with_tests(repository, before, after))


def _find_sources_with_tests(repository: Repository, before: Files, after: Files) -> tuple[str, ...]:
    """Return the changed Rust files with tests, and the Python files whose doctests changed."""
    changed = [
        name
        for name, file in before.items()
        if file.is_regular and file != after.get(name) and get_suffix(name) in _TESTS_IN_SOURCES
    ]
    pairs = {name: (before[name].blob, after[name].blob if name in after else "") for name in changed}
    texts = (
        read_blobs(repository, (blob for pair in pairs.values() for blob in pair if blob)) if pairs else {}
    )
    return tuple(
        name
        for name, (old, new) in pairs.items()
        if not is_test_file(name) and _lost_tests(get_suffix(name), texts.get(old, b""), texts.get(new, b""))
    )


def _lost_tests(suffix: str, old: bytes, new: bytes) -> bool:
    """Return whether tests in the file may be gone or skipped."""
    found = _TESTS_IN_SOURCES[suffix].findall(old)
    # Lines of a doctest count one by one; a Rust test can be changed in many ways.
    return bool(found) and (suffix == ".rs" or not set(found) <= set(_TESTS_IN_SOURCES[suffix].findall(new)))


def compare_with_base_commit(now: TestResults, base: TestResults) -> list[str]:
    """Return a line for each test that passes on the base commit and not any more."""
    passed: dict[str, TestOutcome] = {
        name: outcome for name, outcome in base.outcomes.items() if outcome == "passed"
    }
    lines = compare_results(now, TestResults(passed))
    if not lines and base.passed is not None and base.passed > (now.passed or 0):
        lines.append(f"{now.passed or 0} tests pass; on the base {base.passed} pass")
    return lines


def _find_changes(repository: Repository, before: Files, after: Files, command: str) -> Changes:
    changed = {name for name in {**before, **after} if before.get(name) != after.get(name)}
    scripts = set(list_named_scripts(command, repository.prefix, {**before, **after}))
    scripts |= _list_called_scripts(repository, before, changed, scripts)
    if not any(is_test_file(name) or name in scripts or is_test_configuration(name) for name in before):
        # There was no check that the work could weaken.
        return {}
    own = {
        name: before.get(name)
        for name in changed
        if (name in scripts or is_test_configuration(name) or is_test_file(name))
        and not _is_new_entry(name, scripts, before)
    }
    return {**own, **_restore_mixed(repository, before, after, changed - own.keys())}


def compare_results(now: TestResults, base: TestResults) -> list[str]:
    """Return a line for each test that the work weakened."""
    added = [name for name in now.outcomes if name not in base.outcomes]
    lines: list[str] = []
    for name, outcome in base.outcomes.items():
        if outcome not in ("passed", "failed"):
            continue
        present = now.outcomes.get(name) or _find_moved(name, added, now)
        if outcome == "failed":
            lines.append(f"fails as it was before the task: {name}")
        elif present is None:
            lines.append(f"gone: {name}")
        elif present != "passed":
            lines.append(f"{present}: {name}")
    if not base.outcomes and base.passed is not None and base.passed > (now.passed or 0):
        passed = "1 test passes" if now.passed == 1 else f"{now.passed or 0} tests pass"
        lines.append(f"{passed}; with the tests of the base {_count_passed(base.passed)}")
    return lines


def _count_passed(number: int) -> str:
    return f"{number} passes" if number == 1 else f"{number} pass"


def describe_exit(ended: Exit, base: TestResults, message: str, output: str) -> list[str]:
    """Return a line if the command itself failed with the files of the base."""
    if ended.status == 0 and ended.stopped is None:
        return []
    failed = "failed" in base.outcomes.values()
    if not base.passed and not base.outcomes and _NO_TESTS.search(output):
        # The base has no tests: the work adds the first ones.
        return []
    # Without the new tests the coverage is lower, which weakens nothing.
    lower_coverage = _COVERAGE.search(output) is not None and (base.outcomes or base.passed)
    return [] if failed or lower_coverage else [f"with the checks as they were before the task: {message}"]


def _find_moved(name: str, added: list[str], now: TestResults) -> str | None:
    """Return the outcome of a new test with the same name in another file or class."""
    short = name.rpartition("::")[2]
    moved = next((one for one in added if one.rpartition("::")[2] == short), None)
    if moved is None:
        return None
    added.remove(moved)
    return now.outcomes[moved]


def _is_linter(command: str) -> bool:
    """Return whether the command only runs programs that read files and run no tests."""
    programs = [_find_program(part) for part in split_commands(command)]
    return bool(programs) and all(program in _LINTERS for program in programs)


def _find_program(part: str) -> str:
    words = (word for word in split_words(part) if "=" not in word)
    return next((Path(word).name for word in words if Path(word).name not in _RUNNERS), "")


def _list_called_scripts(
    repository: Repository, before: Files, changed: set[str], scripts: set[str]
) -> set[str]:
    """Return the changed shell scripts that a script or a configuration of the base names."""
    candidates = {name for name in changed if is_shell_script(name)}
    if not candidates:
        return set()
    callers = [
        name
        for name in before
        if name in scripts
        or is_shell_script(name)
        or is_test_configuration(name)
        or name.rpartition("/")[2] == "package.json"
    ]
    texts = read_blobs(repository, (before[name].blob for name in callers)).values()
    return {name for name in candidates if any(name.rpartition("/")[2].encode() in text for text in texts)}


def _is_new_entry(name: str, scripts: set[str], before: Files) -> bool:
    """Return whether the command starts from this file, and the base has none to use instead."""
    if name in before:
        return False
    folder, slash, file = name.rpartition("/")
    if file.lower() in ("makefile", "gnumakefile"):
        family = ("makefile", "Makefile", "GNUmakefile")
        return not any(folder + slash + one in before for one in family)
    return name in scripts or file.lower() in _ENTRY_FILES


def _restore_mixed(repository: Repository, before: Files, after: Files, changed: set[str]) -> Changes:
    names = [name for name in sorted(changed) if name.rpartition("/")[2] in MIXED_CONFIGURATION]
    deleted = {name: before[name] for name in names if name not in after}
    names = [name for name in names if name in after]
    texts = read_blobs(
        repository, (files[name].blob for name in names for files in (before, after) if name in files)
    )
    restored: dict[str, bytes] = {}
    for name in names:
        new = texts.get(after[name].blob, b"")
        old = texts.get(before[name].blob, b"") if name in before else None
        content = restore_test_parts(name, old, new)
        if content != new:
            restored[name] = content
    blobs = write_blobs(repository, list(restored.values()))
    changes = {name: TreeFile(after[name].mode, blob) for name, blob in zip(restored, blobs, strict=True)}
    return {**deleted, **changes}
