"""A commit as a directory of its own: a repository beside the project's that only borrows its objects."""

from __future__ import annotations

import logging
import os
import re
import shutil
from pathlib import Path

from ostler.errors import Code, GitError
from ostler.files.paths import resolve_beneath
from ostler.git.command import LONG_SECONDS, as_stdin, run
from ostler.git.failure import with_git_errors
from ostler.git.large_files import fill_in
from ostler.git.repository import Repository
from ostler.git.shield import shield
from ostler.git.trash import discard
from ostler.git.warm import Pool, claim, fit, seal

_log = logging.getLogger(__name__)
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@with_git_errors
def export(project: Repository, commit: str, path: Path, pool: Pool | None = None) -> Repository:
    """Check the commit out into a new directory; nothing that the project's repository configures takes part.

    Git works in there, with a detached HEAD, and whatever it writes stays there. A kept tree of the pool is
    used where that is safe; the new one is known there by the name of the directory around it.
    """
    if not _COMMIT.fullmatch(commit):
        raise GitError(Code.GIT_CORRUPT, f"{commit!r} is not the name of a commit")
    made = _init(project, commit, path)
    near = pool if pool is not None and _is_near(made, pool) else None
    if near is None or not _take_warm(made, commit, near):
        if not path.exists():
            made = _init(project, commit, path)
        run(made, "checkout", "--quiet", "--detach", commit, "--", timeout_seconds=LONG_SECONDS)
    if near is not None:
        seal(near, path.parent.name, made, commit)
    _apply_filters(project, made)
    return made


def _init(project: Repository, commit: str, path: Path) -> Repository:
    path.mkdir(mode=0o700)
    git_dir = path / ".git"
    made = Repository(path, git_dir, git_dir, project.prefix)
    kind = "sha1" if len(commit) == 40 else "sha256"
    run(made, "init", "--quiet", "--template=", f"--object-format={kind}")
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "objects" / "info" / "alternates").write_bytes(_quoted(project.common_dir / "objects"))
    if (project.common_dir / "shallow").is_file():
        shutil.copyfile(project.common_dir / "shallow", git_dir / "shallow")
    return made


def _take_warm(made: Repository, commit: str, pool: Pool) -> bool:
    """Fill the empty checkout with a kept tree; where that fails, nothing is left of it."""
    place = claim(pool, made.work_tree.parent.name, made, commit)
    if place is None:
        return False
    try:
        run(made, "update-ref", "--no-deref", "HEAD", commit)
        fit(place, made)
        made.work_tree.chmod(0o700)
    except (GitError, OSError) as reason:
        _log.info("%s is made anew: %s", made.work_tree, reason)
        discard(place.path, pool.worktrees)
        discard(made.work_tree, pool.worktrees)
        return False
    return True


def _is_near(made: Repository, pool: Pool) -> bool:
    """Whether a rename leads from the pool to here."""
    return pool.worktrees.is_dir() and pool.worktrees.stat().st_dev == made.work_tree.stat().st_dev


def directory_of(checkout: Repository) -> Path:
    """The project's own directory in a checkout."""
    if not checkout.prefix:
        return checkout.work_tree
    place = resolve_beneath(checkout.work_tree, checkout.prefix)
    place.mkdir(parents=True, exist_ok=True)
    return place


def _quoted(path: Path) -> bytes:
    """As git reads a line of alternates, whatever is in the path."""
    text = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + text + b'"\n'


def _apply_filters(project: Repository, made: Repository) -> None:
    """Put large files in place of their pointers; refuse what only a program could make readable."""
    names = tuple(os.fsdecode(run(made, "ls-files", "-z").stdout).split("\0")[:-1])
    if not any(name.rpartition("/")[2] == ".gitattributes" for name in names):
        return
    answer = run(made, "check-attr", "-z", "--stdin", "filter", stdin=as_stdin(names)).stdout
    fields = os.fsdecode(answer).split("\0")
    required = shield(project).required_filters - {"lfs"}
    for name, kind in zip(fields[::3], fields[2::3], strict=False):
        if kind in required:
            raise GitError(Code.LFS_UNAVAILABLE, f"{name} needs the filter {kind}, which Ostler does not run")
        if kind == "lfs":
            fill_in(made.work_tree, name, project.common_dir)
