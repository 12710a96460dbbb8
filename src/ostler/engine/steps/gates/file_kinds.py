"""Kinds of files in a project: sources, tests, configuration of tests, manifests and lockfiles.

Paths are relative to the repository, with slashes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Container

# fmt: off
SOURCE_SUFFIXES = frozenset({
    ".py", ".pyx", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".go", ".rs", ".java", ".kt",
    ".scala", ".c", ".h", ".cc", ".cpp", ".hpp", ".cxx", ".cs", ".rb", ".swift",
})
# fmt: on

_TEST_DIRECTORY = re.compile(
    r"(^|/)(tests?|__tests__|specs?|e2e|src/[a-z]*test|[^/]*\.[a-z]*tests?)/", re.IGNORECASE
)
# unittest collects test*.py; words such as testing and testimonial name sources.
_TEST_NAME = re.compile(
    r"^(test(?!ing|er|imon|ament|if).*|.*_test|.*_tests)\.py$"
    r"|\.(test|spec)\.[cm]?[jt]sx?$|^tests?\.([cm]?[jt]sx?|rs)$"
    r"|_test\.go$|_spec\.rb$|_test\.rb$|^test_.*\.rb$"
    r"|(Test|Tests|IT|TestCase|Spec)\d*\.(java|kt|scala|cs|swift)$"
    r"|^test_.*\.(c|cc|cpp)$|_test\.(c|cc|cpp)$"
)
# Restored as a whole where the work has changed them.
_TEST_CONFIGURATION = re.compile(
    r"^(conftest\.py|\.?pytest\.(ini|toml)|tox\.(ini|toml)|noxfile\.py|\.coveragerc|sitecustomize\.py|usercustomize\.py"
    r"|GNUmakefile|[Mm]akefile|.*\.mk|[Jj]ustfile|[Tt]askfile\.ya?ml|Rakefile"
    r"|(jest|vitest|vite|karma|playwright|cypress|ava|web-test-runner|babel)\.(config|conf)\.[a-z]+"
    r"|(jest|vitest)\.(setup|workspace)\.[a-z]+|\.mocharc.*|\.tap(rc|\.ya?ml)|nextest\.toml|phpunit\.xml.*|\.rspec)$"
)
# Also hold dependencies and metadata: only their parts about tests are restored.
MIXED_CONFIGURATION = frozenset(
    {
        "pyproject.toml",
        "setup.cfg",
        "package.json",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "Cargo.toml",
    }
)
_MANIFESTS = frozenset(
    {"setup.py", "go.mod", "go.work", "settings.gradle", "settings.gradle.kts", "tsconfig.json", "Gemfile"}
    | {"CMakeLists.txt", "meson.build", "composer.json", "Pipfile", "build.rs"}
)
_TOOL_CONFIGURATION = re.compile(r"(^\.|\.config\.)[^/]*$")
_LOCKFILE = re.compile(
    r"^(poetry\.lock|uv\.lock|pdm\.lock|Pipfile\.lock|requirements[^/]*\.(txt|in)|package-lock\.json"
    r"|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|go\.sum|Cargo\.lock|gradle\.lockfile"
    r"|Gemfile\.lock|composer\.lock)$"
)
_SEPARATOR = re.compile(r"&&|\|\||;|\n|\||&")
_ASSIGNMENT = re.compile(r"\w+=")
_WRAPPERS = frozenset({"env", "time", "nice", "exec", "command", "!", "if", "then", "else", "do", ""})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", ".", "source"})
_INTERPRETER = re.compile(r"python[\d.]*|node|ruby|perl|deno|bun")
_SHELL_SCRIPT = re.compile(r"\.(sh|bash|zsh|ksh)$")


def is_test_configuration(path: str) -> bool:
    """Return whether the file configures a test runner and nothing else."""
    return _TEST_CONFIGURATION.search(_name(path)) is not None


def is_test_file(path: str) -> bool:
    """Return whether the file is a test, or belongs to the tests."""
    return _TEST_NAME.search(_name(path)) is not None or _TEST_DIRECTORY.search(path) is not None


def is_lockfile(path: str) -> bool:
    return _LOCKFILE.search(_name(path)) is not None


def is_shell_script(path: str) -> bool:
    return _SHELL_SCRIPT.search(path) is not None


def is_manifest(path: str) -> bool:
    """Return whether the file describes how the project is built, installed or tested."""
    name = _name(path)
    known = name in _MANIFESTS or name in MIXED_CONFIGURATION
    return known or is_lockfile(path) or is_test_configuration(path) or bool(_TOOL_CONFIGURATION.search(name))


def is_source_file(path: str) -> bool:
    """Return whether the file is program text that is neither a test nor a manifest."""
    return get_suffix(path) in SOURCE_SUFFIXES and not is_test_file(path) and not is_manifest(path)


def get_suffix(path: str) -> str:
    """Return the extension of the file with its dot; empty if there is none."""
    stem, dot, suffix = _name(path).rpartition(".")
    return dot + suffix if stem else ""


def list_named_scripts(command: str, prefix: str, paths: Container[str]) -> tuple[str, ...]:
    """Return the files of the repository that a shell command runs as programs.

    `prefix` is the directory of the command in the repository.
    """
    inside = f"{prefix}/" if prefix else ""
    programs = (_find_script(split_words(part)) for part in split_commands(command))
    names = {inside + program.removeprefix("./") for program in programs if program}
    return tuple(sorted(name for name in names if name in paths))


def split_commands(command: str) -> list[str]:
    """Return the single commands of a shell command."""
    return [part for part in _SEPARATOR.split(command) if part.strip()]


def _find_script(words: list[str]) -> str:
    """Return the word that a single command runs: its first one, or the first argument of an interpreter."""
    words = [word.strip("(){}") for word in words if not _ASSIGNMENT.match(word)]
    while words and words[0] in _WRAPPERS:
        words = words[1:]
    if not words:
        return ""
    program = _name(words[0])
    if program in _SHELLS:
        return next((word for word in words[1:] if not word.startswith("-")), "")
    if _INTERPRETER.fullmatch(program):
        return words[1] if len(words) > 1 else ""
    return words[0]


def split_words(command: str) -> list[str]:
    """Return the words of a shell command; a command with unbalanced quotes is split at spaces."""
    try:
        return shlex.split(command, comments=True)
    except ValueError:
        return command.split()


def _name(path: str) -> str:
    return path.rpartition("/")[2]
