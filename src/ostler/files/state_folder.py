"""Where the state of a project is: in its git directory, which `git clean` leaves, else in .ostler."""

from __future__ import annotations

import os
from pathlib import Path

VIEW = ".ostler"  # in the project: the readable files, the worktrees, and the state without git
STATE = "ostler"  # in the git directory
_SUBPROJECTS = "projects"  # state of projects in subdirectories of the repository
_LINKED = "worktrees"  # state of linked work trees
_COMMON = "commondir"  # in the git directory of a linked work tree: the path of the common one
_POINTER = "gitdir: "
_POINTER_BYTES = 4096
_NAME_LENGTH = 200


def find_state_folder(root: Path) -> Path:
    """Return the directory of a project's journal; no program is started, and nothing has to exist.

    Each work tree of a repository is a project of its own. The state of a linked one is in the common git
    directory: `git worktree remove` and `git worktree prune` delete the git directory of a work tree.
    """
    found = _find_git_dir(root)
    if found is None:
        return root / VIEW
    git_dir, work_tree = found
    prefix, place = os.fspath(root.relative_to(work_tree)), _find_place(git_dir)
    if prefix == ".":
        return place
    state = place / _SUBPROJECTS / _make_name(prefix)
    return state if _can_contain(state) else root / VIEW


def is_shared_place(state: Path) -> bool:
    """Return whether the directory also contains the state of other projects of the repository."""
    return any((state / name).is_dir() for name in (_SUBPROJECTS, _LINKED))


def has_lost_git_dir(root: Path) -> bool:
    """Return whether `.git` of the nearest work tree is a file that leads to no git directory.

    Git fails there, also inside another repository: the directory is no part of that one.
    """
    entry = next((folder / ".git" for folder in (root, *root.parents) if (folder / ".git").exists()), None)
    if entry is None:
        return False
    try:
        git_dir = _read_pointer(entry)
    except (OSError, RuntimeError):
        return True
    return git_dir is not None and not is_git_dir(git_dir)


def _can_contain(state: Path) -> bool:
    """Return whether it exists or can be made; the repository around a project may belong to another user."""
    if os.path.lexists(state):
        return True
    existing = next(folder for folder in state.parents if folder.exists())
    return os.access(existing, os.W_OK | os.X_OK)


def _find_place(git_dir: Path) -> Path:
    """Return the directory of the state of a work tree."""
    try:
        common = os.fsdecode((git_dir / _COMMON).read_bytes()).rstrip("\r\n")
    except OSError:
        return git_dir / STATE
    return (git_dir / common).resolve() / STATE / _LINKED / git_dir.name


def _find_git_dir(root: Path) -> tuple[Path, Path] | None:
    """Return the git directory and the work tree that contains this directory, as git finds them."""
    for folder in (root, *root.parents):
        entry = folder / ".git"
        try:
            git_dir = entry.resolve() if entry.is_dir() else _read_pointer(entry)
            if git_dir is not None and is_git_dir(git_dir):
                return git_dir, folder
        except (OSError, RuntimeError):  # not readable, or a loop of links
            continue
    return None


def _read_pointer(entry: Path) -> Path | None:
    """Return the git directory of a linked work tree, a submodule or a separate git directory."""
    if not entry.is_file():
        return None
    with entry.open("rb") as file:
        text = os.fsdecode(file.read(_POINTER_BYTES)).rstrip("\r\n")
    return (entry.parent / text.removeprefix(_POINTER)).resolve() if text.startswith(_POINTER) else None


def is_git_dir(path: Path) -> bool:
    """Return whether git accepts the directory as a git directory."""
    return os.path.lexists(path / "HEAD") and ((path / "objects").is_dir() or (path / _COMMON).is_file())


def _make_name(prefix: str) -> str:
    # Only projects in subdirectories need them.
    from hashlib import sha256  # noqa: PLC0415
    from urllib.parse import quote  # noqa: PLC0415

    name = quote(os.fsencode(prefix), safe="")
    return name if len(name) <= _NAME_LENGTH else sha256(os.fsencode(prefix)).hexdigest()
