"""Paths to the user's checkout in the settings and manifests of build tools."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ostler.sandbox.checkout import Checkout
from ostler.sandbox.links.link import Link, find_named_paths, list_directory, read_small_file

# Files that can name another directory to take code from.
_MANIFESTS = frozenset({
    "go.mod", "go.work", "Cargo.toml", "package.json", "pom.xml", "settings.gradle", "settings.gradle.kts",
    "build.gradle", "build.gradle.kts", "Makefile", "GNUmakefile", "makefile", "CMakeLists.txt", "tox.ini",
    "noxfile.py", "pytest.ini", "setup.cfg", "pyproject.toml", "justfile", "Taskfile.yml",
})  # fmt: skip
_VARIABLES = ("GOWORK", "GOFLAGS", "PYTHONPATH", "NODE_PATH", "CLASSPATH", "LD_LIBRARY_PATH")
_TARGET_VARIABLES = ("CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR")
_DEPTH = 2  # levels of directories whose manifests are read


def find_build_links(checkout: Checkout, environ: Mapping[str, str]) -> Iterator[Link]:
    """Return manifests, settings and variables that name a user work tree."""
    yield from _find_in_manifests(checkout.directory, checkout, _DEPTH)
    home = Path(environ.get("HOME") or "/")
    settings = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    for path in (settings / "go" / "env", _cargo_home(environ) / "config.toml"):
        yield from _find_in_file(path, checkout)
    for name in _VARIABLES:
        for target in find_named_paths(os.fsencode(environ.get(name, "").replace(":", "\n")), checkout):
            yield Link("build", Path(name), target)


def shares_cargo_target(environ: Mapping[str, str]) -> bool:
    """Return whether cargo writes to a directory that other builds use."""
    config = read_small_file(_cargo_home(environ) / "config.toml")
    return any(environ.get(name) for name in _TARGET_VARIABLES) or b"target-dir" in config


def _cargo_home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CARGO_HOME") or Path(environ.get("HOME") or "/") / ".cargo")


def _find_in_manifests(directory: Path, checkout: Checkout, depth: int) -> Iterator[Link]:
    for entry in list_directory(directory):
        if entry.name in _MANIFESTS and not entry.is_symlink():
            yield from _find_in_file(Path(entry.path), checkout)
        elif depth > 1 and not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
            yield from _find_in_manifests(Path(entry.path), checkout, depth - 1)


def _find_in_file(path: Path, checkout: Checkout) -> Iterator[Link]:
    targets = find_named_paths(read_small_file(path), checkout)
    for target in dict.fromkeys(one for one in targets if not checkout.is_own(one)):
        yield Link("build", path, target)
