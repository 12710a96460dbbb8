"""Copies cached node_modules into the checkout of a gate."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from ostler.sandbox.environments.node_recipe import NODE_MODULES
from ostler.sandbox.environments.recipe import PROJECT

_CLONE = 0x40049409  # FICLONE of Linux: the copy shares its blocks until one of them is written


def copy_node_modules(cached: Path, directory: Path, aside: Path, undo: contextlib.ExitStack) -> None:
    """Put each node_modules at its place in the directory; `undo` restores what was there.

    One that the commit or the setup has created is kept: only a link to another directory is replaced.
    """
    aside.mkdir(exist_ok=True)
    base = cached / PROJECT
    for number, source in enumerate(_find_modules(base)):
        place = directory / source.relative_to(base)
        if place.is_dir() and not place.is_symlink():
            continue
        if os.path.lexists(place):
            kept = aside / f"old-{number}"
            place.rename(kept)
            undo.callback(kept.rename, place)
        _copy_directory(source, place)
        undo.callback(place.rename, aside / f"used-{number}")


def _find_modules(directory: Path) -> Iterator[Path]:
    for folder, names, _ in os.walk(directory):
        if NODE_MODULES in names:
            yield Path(folder, NODE_MODULES)
            names.remove(NODE_MODULES)


def _copy_directory(source: Path, place: Path) -> None:
    """Copy all files, without hard links: a gate that writes to one must not change the cache."""
    place.mkdir(parents=True)
    with os.scandir(source) as entries:
        for entry in entries:
            target = place / entry.name
            if entry.is_symlink():
                target.symlink_to(Path(entry.path).readlink())
            elif entry.is_dir(follow_symlinks=False):
                _copy_directory(Path(entry.path), target)
            else:
                _copy_file(Path(entry.path), target)
                target.chmod(stat.S_IMODE(entry.stat().st_mode) | stat.S_IWUSR)


def _copy_file(source: Path, target: Path) -> None:
    with source.open("rb") as reader, target.open("xb") as writer:
        try:
            fcntl.ioctl(writer.fileno(), _CLONE, reader.fileno())
        except OSError:
            shutil.copyfileobj(reader, writer)
