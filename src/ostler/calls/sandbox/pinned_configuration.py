"""Mounts the configuration that programs execute as it is in the base commit, so that no agent changes it."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from msgspec import Struct

from ostler.files.atomic import make_private_dir
from ostler.files.paths import resolve_beneath
from ostler.files.protected import EXECUTED, list_executed
from ostler.git.commit.extract import extract_paths, read_link
from ostler.git.commit.variant import list_tree
from ostler.git.repository import Repository
from ostler.sandbox.mounts import Mount

_SETUP = "setup"  # configuration that [workspace] brought, which no commit has
_EMPTY, _NEUTRAL = "empty", "neutral"
_MAX_SETUP_BYTES = 10_000_000
_NO_SERVERS = b'{"mcpServers": {}}\n'
_SUFFIXES = {".json": b"{}\n", ".jsonc": b"{}\n"}


class PinnedTree(Struct, frozen=True):
    """A worktree whose configuration is pinned."""

    worktree: Path
    base: str  # commit
    repository: Repository  # of the project; its prefix names the project's directory
    place: Path  # of the task, outside the sandbox: for what is mounted
    exempt: tuple[str, ...] = ()  # sandbox.writable_config
    linked: tuple[str, ...] = ()  # workspace.link: links that Ostler made


def pin_configuration(tree: PinnedTree, *roots: Path) -> tuple[Mount, ...]:
    """Return read-only mounts over the configuration in the worktree, and wherever else it is mounted.

    What the base commit lacks is hidden. A symbolic link that the base lacks is removed: nothing can be
    mounted over one. Without any configuration no git process starts.
    """
    if tree.repository.prefix:
        resolve_beneath(tree.worktree, tree.repository.prefix)
    found = [path for path in list_configuration(tree) if not is_exempt(path, tree)]
    if not found:
        return ()
    original = _provide_original(tree)
    mounts: list[Mount] = []
    for path in found:
        place = _find_place(path, tree)
        if place is not None:
            mounts.append(Mount(_find_source(path, place, original, tree), place))
            mounts += _open_exempt_parts(path, place, original, tree)
    return tuple(_repeat(mounts, tree.worktree, roots))


def pin_in_place(directory: Path, exempt: tuple[str, ...] = ()) -> tuple[Mount, ...]:
    """Return read-only mounts of the configuration on itself, for a directory without commits."""
    found = [directory / one for one in list_executed(directory) if one not in exempt]
    return tuple(Mount(one, one) for one in found if not one.is_symlink())


def hide_configuration(directory: Path, place: Path) -> tuple[Mount, ...]:
    """Return mounts that hide configuration in a directory which only agents write to."""
    found = [directory / one for one in list_executed(directory)]
    for link in (one for one in found if one.is_symlink()):
        link.unlink()
    return tuple(Mount(_find_nothing(one, place), one) for one in found if one.exists())


def list_configuration(tree: PinnedTree) -> list[str]:
    """Return the configuration that exists in the worktree, as paths below it."""
    return [
        str(PurePosixPath(folder, name))
        for folder in list_folders(tree.repository.prefix)
        for name in list_executed(tree.worktree / folder)
    ]


def list_folders(prefix: str) -> list[str]:
    """Return the directories in which programs look for configuration: the root, then those below."""
    parts = PurePosixPath(prefix).parts
    return [str(PurePosixPath(*parts[:count])) for count in range(len(parts) + 1)]


def is_exempt(path: str, tree: PinnedTree) -> bool:
    """Return whether sandbox.writable_config names the path, below the worktree or the project."""
    names = {path, *_below(path, tree.repository.prefix), PurePosixPath(path).name}
    return any(one.strip("/").removeprefix("./") in names for one in tree.exempt)


def remember_setup(tree: PinnedTree) -> None:
    """Keep configuration that [workspace] put into a new worktree, before an agent can change it."""
    found = list_configuration(tree)
    if not found:
        return
    known = list_tree(tree.repository, tree.base, *found)
    size = 0
    for path in (one for name in found for one in _list_files(tree.worktree, name) if one not in known):
        source, kept = tree.worktree / path, tree.place / _SETUP / path
        size += source.stat().st_size
        if size > _MAX_SETUP_BYTES:
            return
        make_private_dir(kept.parent)
        shutil.copyfile(source, kept, follow_symlinks=False)


def _provide_original(tree: PinnedTree) -> Path:
    """Return a directory with the configuration of the base; it is made once per base."""
    folders = list_folders(tree.repository.prefix)
    names = sorted(str(PurePosixPath(folder, name)) for folder in folders for name in EXECUTED)
    key = hashlib.sha256("\0".join((tree.base, *names)).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    original = tree.place / key
    if original.is_dir():
        return original
    make_private_dir(tree.place)
    fresh = Path(tempfile.mkdtemp(prefix="making-", dir=tree.place))
    extract_paths(tree.repository, tree.base, names, fresh)
    for path in _list_files(tree.place, _SETUP):
        kept = fresh / PurePosixPath(path).relative_to(_SETUP)
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(tree.place / path, kept)
    fresh.rename(original)
    return original


def _find_place(path: str, tree: PinnedTree) -> Path | None:
    """Return where to mount; None for a link that Ostler made or that is removed."""
    place = tree.worktree / path
    if not place.is_symlink():
        return place
    names = {path, *_below(path, tree.repository.prefix)}
    if any(one.strip("/").removeprefix("./") in names for one in tree.linked):
        return None
    root, target = Path(os.path.realpath(tree.worktree)), Path(os.path.realpath(place))
    inside = target.is_relative_to(root) and target != root and target.exists()
    if inside and read_link(tree.repository, tree.base, path) == str(place.readlink()):
        return tree.worktree / target.relative_to(root)
    place.unlink()
    return None


def _find_source(path: str, place: Path, original: Path, tree: PinnedTree) -> Path:
    """Return what is mounted: the original if it is of the same kind, else nothing in that kind."""
    source = original / path
    if source.exists() and source.is_dir() == place.is_dir():
        return source
    return _find_nothing(place, tree.place)


def _find_nothing(hidden: Path, place: Path) -> Path:
    """Return an empty directory, or a file that configures nothing."""
    if hidden.is_dir():
        empty = place / _EMPTY
        make_private_dir(empty)
        return empty
    name = hidden.name.casefold()
    neutral = place / _NEUTRAL / name
    make_private_dir(neutral.parent)
    neutral.write_bytes(
        _NO_SERVERS if name.endswith("mcp.json") else _SUFFIXES.get(PurePosixPath(name).suffix, b"")
    )
    return neutral


def _open_exempt_parts(path: str, place: Path, original: Path, tree: PinnedTree) -> Iterator[Mount]:
    """Yield writable mounts of exempt directories in a pinned one, such as .claude/skills."""
    for name in tree.exempt:
        for part in (name, str(PurePosixPath(tree.repository.prefix, name))):
            if not part.startswith(f"{path}/") or not (original / path).is_dir() or not place.is_dir():
                continue
            own = resolve_beneath(tree.worktree, part)
            own.mkdir(parents=True, exist_ok=True)
            (original / part).mkdir(parents=True, exist_ok=True)
            yield Mount(own, own, writable=True)
            break


def _repeat(mounts: list[Mount], worktree: Path, roots: Iterable[Path]) -> Iterator[Mount]:
    """Yield the mounts, and the same for each other path of the worktree."""
    yield from mounts
    for root in roots:
        for one in mounts:
            yield Mount(one.source, root / one.destination.relative_to(worktree), one.writable)


def _list_files(root: Path, name: str) -> Iterator[str]:
    """Yield the regular files of a path, below the root; links are not followed."""
    top = root / name
    if top.is_file() and not top.is_symlink():
        yield name
    for here, folders, names in os.walk(top):
        folders.sort()
        for file in sorted(names):
            path = Path(here, file)
            if path.is_file() and not path.is_symlink():
                yield str(path.relative_to(root))


def _below(path: str, prefix: str) -> tuple[str, ...]:
    """Return the path below the project's directory; nothing if it is elsewhere."""
    return (path.removeprefix(f"{prefix}/"),) if prefix and path.startswith(f"{prefix}/") else ()
