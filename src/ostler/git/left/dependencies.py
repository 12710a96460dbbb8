"""Directories and files that tools create again: installed packages and caches; they are never results."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

_DIRECTORIES = (
    *("node_modules", "bower_components", ".pnpm-store", ".yarn", ".npm", ".parcel-cache", ".turbo", ".next"),
    *(".nuxt", ".svelte-kit", ".vite", ".angular", ".venv", "venv", "__pycache__", ".tox", ".nox", ".eggs"),
    *("*.egg-info", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints"),
    *(".gradle", ".m2", ".cargo", ".dart_tool", ".terraform", ".bundle", ".ccache", ".cache", "Pods"),
    *("CMakeFiles", ".idea", ".vs"),
)
_FILES = (
    *("*.pyc", "*.pyo", "*.o", "*.class", "*.tsbuildinfo", ".DS_Store", "Thumbs.db", ".coverage"),
    *("*.swp", ".eslintcache", ".stylelintcache"),
)
# A virtual environment of any name, and the standard mark of a cache, which cargo and others write.
_MARKERS = ("pyvenv.cfg", "CACHEDIR.TAG")


def is_dependency_directory(path: str, extra: tuple[str, ...] = ()) -> bool:
    """Return whether the name of a directory, or of one above it, is used only for what a tool creates again.

    `extra` are further patterns of names.
    """
    return any(_matches(name, (*_DIRECTORIES, *extra)) for name in path.split("/"))


def has_cache_marker(names: Iterable[str]) -> bool:
    """Return whether the entries of a directory mark it as one that a tool creates again."""
    return any(name in _MARKERS for name in names)


def is_cache_file(name: str, extra: tuple[str, ...] = ()) -> bool:
    """Return whether a file is an intermediate result of a tool."""
    return _matches(name, (*_FILES, *extra))


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
