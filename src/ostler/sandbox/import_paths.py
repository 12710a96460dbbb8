"""Directories of the checkout that Python imports the project from."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from ostler.sandbox.checkout import Checkout
from ostler.sandbox.links.link import Link, list_directory

_SOURCE = "src"


def find_import_paths(checkout: Checkout, links: Iterable[Link]) -> tuple[Path, ...]:
    """Return the directories that the links of Python environments correspond to, relative to the tree."""
    found: list[Path] = []
    for link in links:
        root = checkout.find_root(link.target)
        if link.kind == "copy":
            found += _find_package_roots(checkout, Path(checkout.prefix))
        elif link.kind == "python":
            # A link to another clone corresponds to the project's directory.
            relative = link.target.relative_to(root) if root else Path(checkout.prefix)
            found += _find_package_roots(checkout, relative)
    return tuple(dict.fromkeys(found))


def _find_package_roots(checkout: Checkout, relative: Path) -> list[Path]:
    """Return the directory to import from: src, the directory itself, or the one around a package."""
    directory = checkout.tree / relative
    while (directory / "__init__.py").is_file() and directory != checkout.tree:
        directory = directory.parent
    if not directory.is_dir():
        # Built by the installation, such as build/__editable__.NAME; its sources are in the project.
        directory = checkout.directory
    if _has_modules(directory / _SOURCE):
        directory /= _SOURCE
    return [directory.relative_to(checkout.tree)] if directory.is_relative_to(checkout.tree) else []


def _has_modules(directory: Path) -> bool:
    return any(one.is_dir() or one.name.endswith(".py") for one in list_directory(directory))


def extend_python_path(paths: Iterable[Path], environ: Mapping[str, str]) -> dict[str, str]:
    """Return PYTHONPATH with these directories first; nothing if there are none."""
    first = [str(path) for path in paths]
    if not first:
        return {}
    rest = [environ["PYTHONPATH"]] if environ.get("PYTHONPATH") else []
    return {"PYTHONPATH": os.pathsep.join((*first, *rest))}
