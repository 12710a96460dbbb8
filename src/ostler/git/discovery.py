"""Finds the repository of a project without executing anything from it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.ref_files import read_attached_branch
from ostler.git.repository import Repository
from ostler.git.run.failure import classify_failure
from ostler.git.run.program import execute_git, settings_environment, user_environment
from ostler.git.run.safe_config import FIXED_SETTINGS, parse_plain

_Mark = tuple[int, ...]
_MAX_FOUND = 64
_UNUSUAL = ("core.worktree", "extensions.", "include")
_PATH_OPTIONS = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--show-prefix")


class _Discovery(Struct, frozen=True):
    """A repository, and the state of the files by which it was found."""

    repository: Repository
    marks: tuple[_Mark, ...]


_found: dict[str, _Discovery] = {}  # by the directory, without symbolic links


def discover_repository(path: Path) -> Repository | None:
    """Return the repository that contains a directory, or None; git is asked once for each directory."""
    place = os.path.realpath(path)
    known = _found.get(place)
    if known is not None and known.marks == _read_marks(place, known.repository):
        return known.repository
    found = _read_plain(place) or _discover(path)
    _found.pop(place, None)
    if found is not None and Path(place).is_relative_to(found.work_tree):
        while len(_found) >= _MAX_FOUND:
            _found.pop(next(iter(_found)), None)
        _found[place] = _Discovery(found, _read_marks(place, found))
    return found


def _read_marks(place: str, repository: Repository) -> tuple[_Mark, ...]:
    """Return what changes when another repository may contain the directory, or this one is another."""
    below = [Path(place), *Path(place).parents]
    folders = below[: below.index(repository.work_tree) + 1]
    own = (repository.git_dir, repository.common_dir, repository.git_dir / "HEAD")
    settings = (repository.common_dir / "config", repository.git_dir / "commondir")
    paths = (*(folder / ".git" for folder in folders), *own, *settings)
    return tuple(_read_mark(path, is_file=path in settings) for path in paths)


def _read_mark(path: Path, *, is_file: bool) -> _Mark:
    """Return the identity of a file or directory, and with `is_file` also that of its content."""
    try:
        facts = path.lstat()
    except OSError:
        return ()
    who = (facts.st_dev, facts.st_ino, facts.st_mode, facts.st_uid)
    return (*who, facts.st_mtime_ns, facts.st_size) if is_file else who


def _read_plain(place: str) -> Repository | None:
    """Return the repository at the top of a work tree, as `git init` and `git clone` make it, without git.

    Everything unusual is left to git: a subdirectory, a worktree, extensions, another owner.
    """
    git_dir = Path(place, ".git")
    repository = Repository(Path(place), git_dir, git_dir)
    marks = [_read_mark(path, is_file=False) for path in (Path(place), git_dir)]
    # Git asks for safe.directory only when one of them belongs to another user.
    if any(not mark or not stat.S_ISDIR(mark[2]) or mark[3] != os.geteuid() for mark in marks):
        return None
    is_whole = all((git_dir / name).is_dir() for name in ("objects", "refs"))
    is_shared = os.path.lexists(git_dir / "commondir")
    if not is_whole or is_shared or "\n" in place or read_attached_branch(repository) is None:
        return None
    try:
        entries = parse_plain((git_dir / "config").read_bytes())
    except OSError:
        return None
    settings = dict(entries or ())
    version, bare = settings.get("core.repositoryformatversion"), settings.get("core.bare")
    if version != "0" or bare != "false" or any(name.startswith(_UNUSUAL) for name in settings):
        return None
    return repository


def _discover(path: Path) -> Repository | None:
    args = ("rev-parse", "--path-format=absolute", *_PATH_OPTIONS)
    # Only this call reads the user's configuration, for safe.directory; rev-parse executes nothing.
    finished = execute_git(args, user_environment() | settings_environment(FIXED_SETTINGS), path)
    if finished.status == 0:
        return _parse_repository(path, os.fsdecode(finished.stdout))
    stderr_text = os.fsdecode(finished.stderr)
    if "(or any" in stderr_text:
        return _check_for_damage(path)
    if "bare repository" in stderr_text or "must be run in a work tree" in stderr_text:
        message = f"{path} is in a bare repository, which has no files"
        raise GitError(Code.USAGE, message, "use Ostler in a clone, or in a worktree made from it")
    raise classify_failure(args, finished.stderr, path)


def _parse_repository(path: Path, output: str) -> Repository:
    lines = output.split("\n")[:-1]
    if len(lines) != len(_PATH_OPTIONS):
        raise GitError(Code.USAGE, f"the name of {str(path)!r} contains a line break", "rename the directory")
    work_tree, git_dir, common_dir, prefix = lines
    return Repository(Path(work_tree), Path(git_dir), Path(common_dir), prefix.rstrip("/"))


def _check_for_damage(path: Path) -> None:
    """Raise if git found no repository although there is a .git with content."""
    for directory in (path, *path.absolute().parents):
        git_entry = directory / ".git"
        if git_entry.is_file() or (git_entry / "objects").is_dir():
            message = f"{git_entry} exists, but git cannot read it"
            raise GitError(Code.GIT_CORRUPT, message, "restore it, or move it away")
