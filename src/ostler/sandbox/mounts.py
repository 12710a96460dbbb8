"""What the command of a gate sees: the checkout at the path of the user's work tree."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from ostler.sandbox.checkout import Checkout, below
from ostler.sandbox.links.link import Link, list_directory, read_small_file
from ostler.sandbox.links.python import ENVIRONMENT_PARTS
from ostler.sandbox.mount_points import create_mount_point
from ostler.sandbox.readable import has_directory, has_file, has_path

# Variables that name directories of programs; `True`: programs write there.
_TOOL_DIRECTORIES = {
    "VIRTUAL_ENV": False, "PYENV_ROOT": False, "NVM_DIR": False, "JAVA_HOME": False, "GOROOT": False,
    "RUSTUP_HOME": False, "CARGO_HOME": True, "GOPATH": True, "HOME": True, "TMPDIR": True,
    "XDG_CACHE_HOME": True, "XDG_CONFIG_HOME": True, "XDG_DATA_HOME": True, "XDG_RUNTIME_DIR": True,
}  # fmt: skip
_PRIVATE = ("HOME", "TMPDIR", "XDG_")  # variables of directories that a sandbox has for itself
_OBJECTS = "objects"  # the repository's objects, in the private directory of the checkout
_TOOLS = "tools"  # environments for a setup, which can create its own at the original path
_EMPTY = "empty"


class Mount(Struct, frozen=True):
    """A file or directory, and the path where the command finds it."""

    source: Path
    destination: Path
    writable: bool = False


class View(Struct, frozen=True):
    """The mounts of a command, in order, and its working directory."""

    mounts: tuple[Mount, ...]
    directory: Path
    network: bool = True


class Needs(Struct, frozen=True):
    """What the command uses of the user's work tree, apart from tracked files."""

    links: tuple[str, ...] = ()  # `workspace.link`
    objects: Path | None = None  # the repository's objects; None: reachable anyway
    is_tracked: Callable[[str], bool] = lambda path: False
    # The setup can create environments in the checkout: those of the user are mounted elsewhere then.
    for_setup: bool = False
    # The command is in a sandbox, which has its own home directory and temporary files.
    in_sandbox: bool = False


def plan_mounts(
    checkout: Checkout, found: Iterable[Link], environ: Mapping[str, str], needs: Needs
) -> tuple[Mount, ...]:
    """Return the mounts: the checkout over each work tree that is linked to, then what it lacks."""
    links = tuple(found)
    mounts: list[Mount] = []
    for over in _mount_over(checkout, links):
        mounts.append(over)
        mounts += _mount_needed(checkout, over, environ, needs)
    mounts += [one for link in links if link.kind == "copy" for one in _hide_copy(link, checkout)]
    if needs.objects is not None:
        mounts.append(Mount(needs.objects, checkout.private / _OBJECTS))
    return tuple(dict.fromkeys(mounts))


def _mount_over(checkout: Checkout, links: tuple[Link, ...]) -> list[Mount]:
    """Return mounts of the checkout over the user's work tree, and over others that are linked to."""
    found = {checkout.user: checkout.tree}
    for link in links:
        root = checkout.find_root(link.target)
        place, source = (root, checkout.tree) if root else (link.target, checkout.directory)
        if has_directory(place) and not place.is_relative_to(checkout.user):
            found[place] = source
    # Outer directories first: a mount hides those that were made below it before.
    return [Mount(found[place], place, writable=True) for place in sorted(found, key=_depth)]


def _depth(path: Path) -> int:
    return len(path.parts)


def _mount_needed(checkout: Checkout, over: Mount, environ: Mapping[str, str], needs: Needs) -> list[Mount]:
    """Return mounts of linked paths, and of untracked directories that the environment names."""
    root = over.destination
    mounts = [
        Mount(Path(os.path.realpath(root / checkout.prefix / name)), root / checkout.prefix / name)
        for name in needs.links
        if root == checkout.user and _is_placed(checkout, name)
    ]
    placed = {one.destination.relative_to(root) for one in mounts}
    for path, writable in _list_named_directories(_select_variables(environ, needs)):
        missing = _find_missing(over, path, placed)
        if missing is None or needs.is_tracked(str(missing)):
            continue
        placed.add(missing)
        aside = needs.for_setup and not writable
        place = checkout.private / _TOOLS / missing if aside else root / missing
        source = Path(os.path.realpath(root / missing))
        if not needs.in_sandbox:
            mounts.append(Mount(source, place, writable))
        elif not _has_home(source, environ):
            mounts.append(Mount(source, place))  # a person runs the programs there without a sandbox
    return mounts


def _select_variables(environ: Mapping[str, str], needs: Needs) -> dict[str, str]:
    return {name: environ[name] for name in environ if not (needs.in_sandbox and name.startswith(_PRIVATE))}


def _has_home(path: Path, environ: Mapping[str, str]) -> bool:
    return Path(os.path.realpath(environ.get("HOME") or "/")).is_relative_to(path)


def _is_placed(checkout: Checkout, name: str) -> bool:
    """Return whether the path was linked; a commit that has the path itself is not overridden."""
    place = checkout.directory / name
    if place.is_symlink():
        return below(checkout.user, place.parent / place.readlink()) is not None
    # The mount point of a link, which a killed run left.
    return place.is_dir() and not list_directory(place)


def _list_named_directories(environ: Mapping[str, str]) -> list[tuple[Path, bool]]:
    named = [(environ.get(name, ""), writable) for name, writable in _TOOL_DIRECTORIES.items()]
    named.sort(key=lambda one: not one[1])  # a program on PATH can be in a directory that must be writable
    named += [(one, False) for one in environ.get("PATH", "").split(os.pathsep)]
    found = [(Path(os.path.normpath(one)), writable) for one, writable in named if one.startswith("/")]
    return [
        (part, writable)
        for path, writable in found
        for part in (path, *_list_parts(path), *_list_parts(path.parent))
    ]


def _list_parts(environment: Path) -> list[Path]:
    """Return the parts of a Python environment, which can be in the root of the work tree; else nothing."""
    if not has_file(environment / "pyvenv.cfg"):
        return []
    return [environment / name for name in ENVIRONMENT_PARTS if has_path(environment / name)]


def _find_missing(over: Mount, path: Path, placed: set[Path]) -> Path | None:
    """Return the topmost directory on the way to `path` that the checkout lacks; None if it has all."""
    relative = below(over.destination, path)
    if relative is None or not has_path(path):
        return None
    for count in range(1, len(relative.parts) + 1):
        part = Path(*relative.parts[:count])
        if part in placed:
            return None
        if not os.path.lexists(over.source / part):
            return part
    return None


def _hide_copy(link: Link, checkout: Checkout) -> list[Mount]:
    """Return empty mounts over the packages of a copy, so that a deleted module is not found there."""
    site = link.source.parent
    names = {line.split("/")[0].split(",")[0] for line in _read_record(link.source)}
    packages = sorted(name for name in names if name.isidentifier() and has_directory(site / name))
    return [Mount(checkout.private / _EMPTY, site / name) for name in packages]


def _read_record(info: Path) -> list[str]:
    return read_small_file(info / "RECORD").decode("utf-8", "replace").splitlines()


def relocate_tools(checkout: Checkout, mounts: Iterable[Mount], environ: Mapping[str, str]) -> dict[str, str]:
    """Return PATH with each directory of a mounted environment added after its original path."""
    aside = {
        one.source: one.destination
        for one in mounts
        if one.destination.is_relative_to(checkout.private / _TOOLS)
    }
    if not aside:
        return {}
    found: list[str] = []
    for name in environ.get("PATH", "").split(os.pathsep):
        found.append(name)
        real = Path(os.path.realpath(name)) if name else Path()
        found += [str(new / real.relative_to(old)) for old, new in aside.items() if real.is_relative_to(old)]
    return {"PATH": os.pathsep.join(found)}


@contextlib.contextmanager
def prepare_mount_points(checkout: Checkout, mounts: Iterable[Mount]) -> Generator[None]:
    """Create the mount points in the checkout; afterwards it is as before."""
    with contextlib.ExitStack() as undo:
        over: list[Mount] = []
        for mount in mounts:
            if mount.source == checkout.private / _EMPTY:
                mount.source.mkdir(exist_ok=True)
            place = _find_real_place(mount.destination, over)
            if place.is_relative_to(checkout.private):
                relative = place.relative_to(checkout.private)
                create_mount_point(checkout.private, relative, mount.source.is_dir(), undo)
            if checkout.is_own(mount.source):
                over.append(mount)
        yield


def _find_real_place(path: Path, over: list[Mount]) -> Path:
    """Return where a mount point has to be created: in the checkout, for a path below a mount of it."""
    for mount in reversed(over):
        if path.is_relative_to(mount.destination):
            return mount.source / path.relative_to(mount.destination)
    return path
