"""Links of node_modules directories."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ostler.sandbox.checkout import Checkout
from ostler.sandbox.links.link import Link, list_directory
from ostler.sandbox.readable import has_path

_MODULES = "node_modules"
_GLOBAL = "lib/node_modules"  # beside the bin directory of node
_DEPTH = 3  # levels of directories in the checkout that can contain node_modules


def find_node_links(checkout: Checkout, environ: Mapping[str, str]) -> Iterator[Link]:
    """Return packages and programs whose real path is in a user work tree, outside node_modules."""
    for directory in _list_module_directories(checkout, environ):
        for path in _list_symlinks(directory):
            target = Path(os.path.realpath(path))
            inside = _MODULES in target.parts
            if not inside and checkout.find_root(target) is not None and not checkout.is_own(target):
                yield Link("node", path, target)


def _list_module_directories(checkout: Checkout, environ: Mapping[str, str]) -> list[Path]:
    folders = [Path(one) for one in environ.get("PATH", "").split(os.pathsep) if one.startswith("/")]
    found = [folder.parent for folder in folders if folder.parts[-2:] == (_MODULES, ".bin")]
    found += [folder.parent / _GLOBAL for folder in folders if has_path(folder / "node")]
    return [*_walk(checkout.directory, _DEPTH), *dict.fromkeys(found)]


def _walk(directory: Path, depth: int) -> Iterator[Path]:
    for entry in list_directory(directory):
        if entry.name == _MODULES:
            yield Path(entry.path)
        elif depth > 1 and not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), depth - 1)


def _list_symlinks(directory: Path) -> Iterator[Path]:
    for entry in list_directory(directory):
        if entry.is_symlink():
            yield Path(entry.path)
        elif entry.name.startswith("@") or entry.name == ".bin":
            yield from (Path(one.path) for one in list_directory(Path(entry.path)) if one.is_symlink())
