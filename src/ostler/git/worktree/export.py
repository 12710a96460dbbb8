"""Checks out a commit into its own repository, which shares the project's objects."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import stat
from pathlib import Path

from ostler.errors import Code, GitError
from ostler.files.paths import open_beneath, resolve_beneath
from ostler.git.repository import Repository
from ostler.git.run.command import LONG_SECONDS, encode_names, run_git
from ostler.git.run.failure import with_git_errors
from ostler.git.run.safe_config import read_safe_config
from ostler.git.worktree.trash import checking_out, discard
from ostler.git.worktree.work_trees import quote_alternate
from ostler.git.worktree.worktree_pool import WorktreePool, claim_tree, install_tree, record_tree

_log = logging.getLogger(__name__)
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MAX_POINTER_BYTES = 1024
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\n")
_FETCH_HINT = "run git lfs fetch --all"


@with_git_errors
def export_commit(
    project: Repository, commit: str, path: Path, pool: WorktreePool | None = None
) -> Repository:
    """Check out a commit into a new directory without using the project's configuration.

    The checkout has a detached HEAD and its own git directory. A tree of the pool is used if that is safe;
    the new one is recorded in the pool by the name of its parent directory.
    """
    if not _COMMIT.fullmatch(commit):
        raise GitError(Code.GIT_CORRUPT, f"{commit!r} is not a commit id")
    checkout = _init_repository(project, commit, path)
    usable_pool = pool if pool is not None and _is_on_same_device(checkout, pool) else None
    if usable_pool is None or not _install_pooled_tree(checkout, commit, usable_pool):
        if not path.exists():
            checkout = _init_repository(project, commit, path)
        with checking_out():
            run_git(checkout, "checkout", "--quiet", "--detach", commit, "--", timeout_seconds=LONG_SECONDS)
    if usable_pool is not None:
        record_tree(usable_pool, path.parent.name, checkout, commit)
    _apply_filters(project, checkout)
    return checkout


def _init_repository(project: Repository, commit: str, path: Path) -> Repository:
    path.mkdir(mode=0o700)
    git_dir = path / ".git"
    checkout = Repository(path, git_dir, git_dir, project.prefix)
    kind = "sha1" if len(commit) == 40 else "sha256"
    run_git(checkout, "init", "--quiet", "--template=", f"--object-format={kind}")
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "objects" / "info" / "alternates").write_bytes(quote_alternate(project.common_dir / "objects"))
    if (project.common_dir / "shallow").is_file():
        shutil.copyfile(project.common_dir / "shallow", git_dir / "shallow")
    return checkout


def _install_pooled_tree(checkout: Repository, commit: str, pool: WorktreePool) -> bool:
    """Fill the empty checkout with a tree of the pool; remove it and return False if that fails."""
    path_in_tree = claim_tree(pool, checkout.work_tree.parent.name, checkout, commit)
    if path_in_tree is None:
        return False
    try:
        run_git(checkout, "update-ref", "--no-deref", "HEAD", commit)
        install_tree(path_in_tree, checkout, commit)
        checkout.work_tree.chmod(0o700)
    except (GitError, OSError) as reason:
        _log.info("%s is checked out again: %s", checkout.work_tree, reason)
        discard(path_in_tree.path, pool.worktrees)
        discard(checkout.work_tree, pool.worktrees)
        return False
    return True


def _is_on_same_device(checkout: Repository, pool: WorktreePool) -> bool:
    """Return whether trees of the pool can be renamed to this place."""
    return pool.worktrees.is_dir() and pool.worktrees.stat().st_dev == checkout.work_tree.stat().st_dev


def create_project_directory(checkout: Repository) -> Path:
    """Return the project's directory in a checkout, and create it if it is missing."""
    if not checkout.prefix:
        return checkout.work_tree
    path_in_tree = resolve_beneath(checkout.work_tree, checkout.prefix)
    path_in_tree.mkdir(parents=True, exist_ok=True)
    return path_in_tree


def _apply_filters(project: Repository, checkout: Repository) -> None:
    """Replace LFS pointers by their content. Raises LFS_UNAVAILABLE for other required filters."""
    if not run_git(checkout, "ls-files", "-z", "--", ":(glob)**/.gitattributes").stdout:
        return
    names = tuple(os.fsdecode(run_git(checkout, "ls-files", "-z").stdout).split("\0")[:-1])
    output = run_git(checkout, "check-attr", "-z", "--stdin", "filter", stdin=encode_names(names)).stdout
    fields = os.fsdecode(output).split("\0")
    required = read_safe_config(project).required_filters - {"lfs"}
    for name, kind in zip(fields[::3], fields[2::3], strict=False):
        if kind in required:
            raise GitError(Code.LFS_UNAVAILABLE, f"{name} needs the filter {kind}, which Ostler does not run")
        if kind == "lfs":
            _replace_lfs_pointer(checkout.work_tree, name, project.common_dir)


def _replace_lfs_pointer(work_tree: Path, name: str, common_dir: Path) -> None:
    """Replace a pointer by its content. Raises LFS_UNAVAILABLE if it was not fetched or is damaged."""
    oid = _read_pointer(work_tree, name)
    if oid is None:
        return
    stored = common_dir / "lfs" / "objects" / oid[:2] / oid[2:4] / oid
    path_in_tree = work_tree / name
    mode = stat.S_IMODE(path_in_tree.lstat().st_mode)
    if not stored.is_file() or stored.is_symlink():
        raise GitError(Code.LFS_UNAVAILABLE, f"{name} is not in the LFS objects of {common_dir}", _FETCH_HINT)
    path_in_tree.unlink()
    shutil.copyfile(stored, path_in_tree, follow_symlinks=False)
    path_in_tree.chmod(mode)
    with path_in_tree.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != oid:
            raise GitError(Code.LFS_UNAVAILABLE, f"{stored} is damaged", _FETCH_HINT)


def _read_pointer(work_tree: Path, name: str) -> str | None:
    """Return the object id of a pointer file; None for other files."""
    if (work_tree / name).is_symlink() or not (work_tree / name).is_file():
        return None
    with os.fdopen(open_beneath(work_tree, name, os.O_RDONLY), "rb") as file:
        found = _POINTER.match(file.read(_MAX_POINTER_BYTES))
    return found[1].decode() if found else None
