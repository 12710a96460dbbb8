"""Copy or link files into another directory; nothing is replaced and nothing is left half done."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ostler.errors import Code, OstlerError
from ostler.files.disk import to_disk_error
from ostler.files.paths import resolve_beneath


class Placement(Struct, frozen=True):
    """One file or directory that the destination lacks."""

    source: Path
    path: str  # below the destination
    link: bool = False


def plan_copies(root: Path, destination: Path, names: tuple[str, ...]) -> list[Placement]:
    """Return what to copy: paths that the destination lacks; existing directories are completed."""
    sources = [_require_existing(resolve_beneath(root, name)) for name in names]
    return [one for source in sources for one in _missing(source, destination, str(source.relative_to(root)))]


def plan_links(root: Path, destination: Path, names: tuple[str, ...]) -> list[Placement]:
    """Return what to link; a link in the project is linked to, not followed."""
    sources = [_require_existing(resolve_beneath(root, name, to_link=True)) for name in names]
    wanted = [Placement(source, str(source.relative_to(root)), link=True) for source in sources]
    return [one for one in wanted if not _exists(destination, one.path)]


def place_all(placements: list[Placement], destination: Path, staging: Path) -> None:
    """Make each item in `staging` and rename it into place, so that a kill leaves nothing half done."""
    for number, placement in enumerate(placements):
        if _exists(destination, placement.path):
            continue  # named twice
        place, fresh = destination / placement.path, staging / str(number)
        try:
            _make(placement, fresh)
            place.parent.mkdir(parents=True, exist_ok=True)
            fresh.rename(place)
        except OSError as error:
            raise to_disk_error(error.filename or place, error) from error


def _missing(source: Path, destination: Path, path: str) -> Iterator[Placement]:
    if not _exists(destination, path):
        yield Placement(source, path)
    elif _is_directory(source) and _is_directory(destination / path):
        for name in sorted(child.name for child in source.iterdir()):
            yield from _missing(source / name, destination, f"{path}/{name}")


def _require_existing(source: Path) -> Path:
    if not os.path.lexists(source):
        message = f"{source} is listed in [workspace] but does not exist"
        raise OstlerError(Code.INPUT_NOT_FOUND, message, "create it, or change [workspace] in ostler.toml")
    return source


def _exists(destination: Path, path: str) -> bool:
    return os.path.lexists(resolve_beneath(destination, path, to_link=True))


def _is_directory(path: Path) -> bool:
    return stat.S_ISDIR(path.lstat().st_mode)


def _make(placement: Placement, fresh: Path) -> None:
    if placement.link:
        fresh.symlink_to(placement.source)
    elif _is_directory(placement.source):
        _copy_tree(placement.source, fresh)
    else:
        shutil.copy2(placement.source, fresh, follow_symlinks=False)


def _copy_tree(source: Path, fresh: Path) -> None:
    """Copy a directory; links stay links; sockets, pipes and devices are skipped."""
    waiting = [(source, fresh)]
    while waiting:
        here, there = waiting.pop()
        there.mkdir()
        there.chmod(stat.S_IMODE(here.stat().st_mode) | stat.S_IRWXU)
        for entry in os.scandir(here):
            if entry.is_dir(follow_symlinks=False):
                waiting.append((here / entry.name, there / entry.name))
            elif entry.is_symlink() or entry.is_file():
                shutil.copy2(entry.path, there / entry.name, follow_symlinks=False)
