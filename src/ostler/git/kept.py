"""Keeps commits alive under refs/ostler, where no branch command of the user deletes them."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ostler.errors import Code, GitError
from ostler.git.ref_files import read_ref
from ostler.git.repository import Repository
from ostler.git.run.command import query_git, run_git

_OWN = "refs/ostler/"
_TASKS = "refs/ostler/tasks"
_PREVIOUS = "refs/ostler/previous"
_REVIEWS = "refs/ostler/reviews"


def kept_task_ref(task: str) -> str:
    """Return the ref that keeps the last commit of a task."""
    return f"{_TASKS}/{task}"


def is_kept(repository: Repository, task: str, commit: str) -> bool:
    """Return whether this is the kept commit of a task; a checkpoint keeps the one that it makes."""
    return _read_ref(repository, kept_task_ref(task)) == commit


def keep_task_commit(repository: Repository, task: str, commit: str) -> None:
    """Keep the last commit of a task, and with it its base, until the task is purged."""
    _set_ref(repository, kept_task_ref(task), commit)


def keep_start_commit(repository: Repository, task: str, commit: str) -> None:
    """Keep the commit of the user's changes that a task starts from."""
    _set_ref(repository, f"refs/ostler/start/{task}", commit)


def keep_previous_tip(repository: Repository, target: str, branch: str, commit: str) -> None:
    """Keep the tip that the target had before the branch of a task was merged into it."""
    _set_ref(repository, f"{_PREVIOUS}/{target}/{branch.rpartition('/')[2]}", commit)


def judged_ref(task: str, number: int) -> str:
    """Return the ref that keeps the commit of a review, here and at the remote of a cluster."""
    return f"{_REVIEWS}/{task}/{number}"


def keep_judged_commit(repository: Repository, task: str, number: int, commit: str, base: str) -> None:
    """Keep the commit of a review, and its base if that is no ancestor of it."""
    ref = judged_ref(task, number)
    _set_ref(repository, ref, commit)
    checked = run_git(repository, "merge-base", "--is-ancestor", base, commit, accept=(0, 1, 128))
    if checked.status == 1:
        _set_ref(repository, f"{ref}-base", base)


def list_own_refs(repository: Repository) -> dict[str, list[str]]:
    """Return the refs below refs/ostler by the task that they belong to."""
    found: dict[str, list[str]] = {}
    for ref in query_git(repository, "for-each-ref", "--format=%(refname)", _OWN).splitlines():
        kind, _, rest = ref.removeprefix(_OWN).partition("/")
        # refs/ostler/KIND/TASK[/...], but refs/ostler/previous/TARGET/TASK, where the target may have slashes
        task = rest.rpartition("/")[2] if kind == "previous" else rest.partition("/")[0]
        found.setdefault(task, []).append(ref)
    return found


def delete_refs(repository: Repository, refs: Iterable[str]) -> None:
    """Delete these refs together; one that does not exist is ignored."""
    lines = "".join(f"delete {ref}\n" for ref in refs)
    if lines:
        run_git(repository, "update-ref", "--no-deref", "--stdin", stdin=os.fsencode(lines))


def _read_ref(repository: Repository, ref: str) -> str:
    found = read_ref(repository, ref)
    if found is None:
        return query_git(repository, "for-each-ref", "--format=%(objectname)", ref)
    return found


def _set_ref(repository: Repository, ref: str, commit: str) -> None:
    """Set a ref, if it still has the value that was read; another process may set the same one."""
    old = _read_ref(repository, ref)
    if old == commit:
        return
    args = ("update-ref", "--no-deref", ref, commit, old or "0" * len(commit))
    try:
        run_git(repository, *args)
    except GitError as error:
        if error.code is not Code.GIT_LOCKED or _read_ref(repository, ref) != commit:
            raise
