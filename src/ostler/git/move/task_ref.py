"""The hidden ref of a task at a remote, through which its commits move between machines.

A machine that lost the task without knowing it must not replace the work of the next one. So each push names
the commit that the ref must still have, which is the last one that this machine pushed or fetched. When the
ref has another commit, it is read again, and only then `is_owner` decides whether the push is repeated: a
machine that takes over the task in between changes the ref, so that the repeated push is refused too.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ostler.errors import Code, GitError
from ostler.git.kept import judged_ref
from ostler.git.publish.push import RemoteMoved, create_push_error
from ostler.git.publish.remote import Remote, read_remote
from ostler.git.publish.transport import REMOTE_TIMEOUT_SECONDS, RemoteFailure, run_remote_command
from ostler.git.refs import has_commit, resolve_commit
from ostler.git.repository import Repository
from ostler.git.run.command import query_git, run_git
from ostler.process.tool import ToolResult
from ostler.waits import Wait

_HIDDEN = "refs/ostler/tasks"
_START = "refs/ostler/start"
_RECORDED = "refs/ostler/recorded"
KNOWN_REFS = "refs/ostler/moved"  # in this repository: the commit that the remote had last
OUTAGE_SECONDS = 300.0
_RETRY_SECONDS = 2.0
_LIST_SECONDS = 60.0
_MAX_PUSHES = 3
_MAX_SHARED = 100
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")
_T = TypeVar("_T")


class TaskRef(Struct, frozen=True):
    """The ref of one task at a remote."""

    repository: Repository
    remote: Remote
    name: str  # at the remote: neither a branch nor a tag, so no clone and no plain fetch gets it
    known: str  # ref of this repository with the commit that the remote had last; empty: it is not kept
    outage_seconds: float = OUTAGE_SECONDS  # how long an outage of the remote is waited for
    timeout_seconds: float = REMOTE_TIMEOUT_SECONDS  # of one command


def find_task_ref(
    repository: Repository, remote: str, task: str, outage_seconds: float = OUTAGE_SECONDS
) -> TaskRef:
    """Return the ref of a task; raise CONFIG_INVALID without that remote."""
    found = _require_remote(repository, remote)
    return TaskRef(repository, found, find_task_ref_name(task), f"{KNOWN_REFS}/{task}", outage_seconds)


def find_task_ref_name(task: str) -> str:
    """Return the name of the ref of a task at the remote."""
    return f"{_HIDDEN}/{task}"


def find_start_ref(
    repository: Repository, remote: str, commit: str, outage_seconds: float = OUTAGE_SECONDS
) -> TaskRef:
    """Return the ref of the user's uncommitted changes that a task starts from."""
    found = _require_remote(repository, remote)
    return TaskRef(repository, found, f"{_START}/{commit}", "", outage_seconds)


def find_recorded_ref(
    repository: Repository, remote: str, task: str, outage_seconds: float = OUTAGE_SECONDS
) -> TaskRef:
    """Return the ref of the recorded commit of a task, which a rebase replaced in its branch."""
    found = _require_remote(repository, remote)
    return TaskRef(repository, found, f"{_RECORDED}/{task}", "", outage_seconds)


def find_review_ref(
    repository: Repository, remote: str, task: str, number: int, outage_seconds: float = OUTAGE_SECONDS
) -> TaskRef:
    """Return the ref of the commit that a review is about."""
    found = _require_remote(repository, remote)
    return TaskRef(repository, found, judged_ref(task, number), "", outage_seconds)


def list_review_refs(
    repository: Repository, remote: str, task: str, outage_seconds: float = OUTAGE_SECONDS
) -> tuple[TaskRef, ...]:
    """Return the refs of all reviews of a task that the remote has."""
    first = find_review_ref(repository, remote, task, 1, outage_seconds)
    pattern = f"{first.name.rpartition('/')[0]}/*"
    lines = _with_retries(first, partial(_list_remote, first, pattern)).splitlines()
    return tuple(replace(first, name=line.partition("\t")[2]) for line in lines)


def _require_remote(repository: Repository, remote: str) -> Remote:
    if found := read_remote(repository, remote):
        return found
    message = f"tasks move through the git remote {remote}, but {repository.work_tree} has none of this name"
    raise GitError(Code.CONFIG_INVALID, message, f"git remote add {remote} URL, or correct engine.remote")


def read_known_commit(ref: TaskRef) -> str:
    """Return the commit that this machine pushed or fetched last; empty without one."""
    if not ref.known:
        return ""
    return query_git(ref.repository, "for-each-ref", "--format=%(objectname)", ref.known)


def read_remote_commit(ref: TaskRef) -> str:
    """Return the commit of the ref at the remote; empty without one."""
    return _with_retries(ref, partial(_read_remote_commit, ref))


def _read_remote_commit(ref: TaskRef) -> str:
    return _list_remote_commits(ref, (ref.name,)).get(ref.name, "")


def _list_remote_commits(ref: TaskRef, names: tuple[str, ...]) -> dict[str, str]:
    """Return the commits of those of these refs that the remote has."""
    found = (line.partition("\t") for line in _list_remote(ref, *names).splitlines())
    return {name: commit for commit, _, name in found if name in names}


def _list_remote(ref: TaskRef, *names: str) -> str:
    # It transfers next to nothing, so that a remote that accepts connections and is silent is found soon.
    quick = replace(ref, timeout_seconds=min(ref.timeout_seconds, _LIST_SECONDS))
    return os.fsdecode(_run(quick, "ls-remote", "--symref", ref.remote.name, *names).stdout)


def push_commit(ref: TaskRef, commit: str, is_owner: Callable[[], bool]) -> bool:
    """Set the ref at the remote; return whether a push was needed.

    `is_owner` returns whether this machine still has the task. Raises PUSH_REJECTED if it has not, and
    REMOTE_UNREACHABLE if the outage of the remote lasts too long.
    """
    expected = read_known_commit(ref)
    if expected == commit:
        return False
    for _ in range(_MAX_PUSHES):
        try:
            _with_retries(ref, partial(_push, ref, commit, expected))
        except RemoteMoved:
            # Also when the answer to a push of this commit was lost.
            expected = read_remote_commit(ref)
            if expected == commit:
                break
            if not is_owner():
                raise _create_lost_error(ref) from None
        else:
            break
    else:
        raise _create_lost_error(ref)
    _remember(ref, commit)
    return True


def _push(ref: TaskRef, commit: str, expected: str) -> None:
    lease = f"--force-with-lease={ref.name}:{expected}"
    _run_push(ref, (f"{commit}:{ref.name}",), lease, known=(expected,) if expected else ())


def _run_push(ref: TaskRef, refspecs: tuple[str, ...], *more: str, known: tuple[str, ...] = ()) -> None:
    options = ("--porcelain", "--no-verify", *more)
    done = _run(ref, "push", *options, ref.remote.name, *refspecs, known=known, accept=(0, 1, 128))
    if done.status != 0:
        raise create_push_error(ref.remote, ref.name, os.fsdecode(done.stdout), done.stderr)


def _run(ref: TaskRef, *args: str, known: tuple[str, ...] = (), accept: tuple[int, ...] = (0,)) -> ToolResult:
    return run_remote_command(
        ref.repository,
        ref.remote.destination,
        *args,
        known_commits=known,
        accept=accept,
        timeout_seconds=ref.timeout_seconds,
    )


def fetch_commit(ref: TaskRef, known_commits: tuple[str, ...] = ()) -> str:
    """Fetch the commits of the ref and return the last one; empty if the remote has none.

    No branch moves. `known_commits` reduce the transfer.
    """
    commit = read_remote_commit(ref)
    if not commit:
        return ""
    if not has_commit(ref.repository, commit):
        known = tuple(one for one in known_commits if has_commit(ref.repository, one))
        _with_retries(ref, partial(_fetch, ref, (*known, *_list_shared_commits(ref))))
    if not has_commit(ref.repository, commit):
        # Another push replaced it between the two commands.
        message = f"{ref.name} at {ref.remote.name} changed while it was fetched"
        raise GitError(Code.PUSH_REJECTED, message, "try again")
    _remember(ref, commit)
    return commit


def fetch_branch(repository: Repository, remote: str, branch: str) -> str:
    """Fetch the commits of a branch of the remote and return the last one; empty if there is no such branch.

    No branch of this repository moves, its tracking branches included.
    """
    name = f"refs/heads/{branch}"
    known = tuple(filter(None, (resolve_commit(repository, name),)))
    return fetch_commit(TaskRef(repository, _require_remote(repository, remote), name, ""), known)


def find_default_branch(repository: Repository, remote: str) -> str:
    """Return the branch that a clone of the remote checks out; empty if it has none."""
    ref = TaskRef(repository, _require_remote(repository, remote), "HEAD", "")
    output = _with_retries(ref, partial(_list_remote, ref, "HEAD"))
    found = re.match(r"ref: refs/heads/([^\t\n]+)\tHEAD$", output, re.MULTILINE)
    return found[1] if found else ""


def _fetch(ref: TaskRef, known: tuple[str, ...]) -> None:
    _run(ref, *_FETCH, ref.remote.name, ref.name, known=known)


def _list_shared_commits(ref: TaskRef) -> tuple[str, ...]:
    """Return commits that the remote probably has too: without any, its whole history is transferred."""
    places = (f"refs/remotes/{ref.remote.name}/", f"{KNOWN_REFS}/", "refs/heads/")
    options = (f"--count={_MAX_SHARED}", "--sort=-committerdate", "--format=%(objectname)")
    # A ref to a commit that is missing ends the list: it costs a transfer, and must not stop the task.
    found = run_git(ref.repository, "for-each-ref", *options, *places, accept=(0, 1, 128))
    return tuple(found.stdout.decode().split()) if found.status == 0 else ()


def find_shared_base(repository: Repository, remote: str, commit: str) -> str:
    """Return the last commit below this one that was fetched from the remote; without one, its parent."""
    fetched = query_git(
        repository, "for-each-ref", "--format=%(objectname)", f"refs/remotes/{remote}/"
    ).split()
    base = query_git(repository, "merge-base", commit, *dict.fromkeys(fetched)) if fetched else ""
    return base or f"{commit}^"


def delete_remote_refs(*refs: TaskRef) -> None:
    """Delete refs of one remote, whatever commits they have; those that it does not have are ignored."""
    first, names = refs[0], tuple(ref.name for ref in refs)
    if found := _with_retries(first, partial(_list_remote_commits, first, names)):
        _with_retries(first, partial(_run_push, first, tuple(f":{name}" for name in found)))
    for ref in refs:
        if ref.known:
            run_git(ref.repository, "update-ref", "-d", "--no-deref", ref.known)


def _remember(ref: TaskRef, commit: str) -> None:
    if ref.known:
        run_git(ref.repository, "update-ref", "--no-deref", ref.known, commit)


def _with_retries(ref: TaskRef, command: Callable[[], _T]) -> _T:
    """Repeat a command while the remote cannot be used: what is wrong there can be corrected meanwhile."""
    wait: Wait | None = None
    began_at = time.monotonic()
    while True:
        try:
            result = command()
        except RemoteFailure as failure:
            waited = time.monotonic() - began_at  # until the command was ended, if nothing was answered
            describe = partial(_describe_wait, ref, failure)
            wait = wait or Wait(describe, ref.outage_seconds, _RETRY_SECONDS, waited)
            if wait.pause():
                continue
            raise GitError(Code.REMOTE_UNREACHABLE, failure.message, failure.hint) from failure
        if wait is not None:
            wait.finish()
        return result


def _describe_wait(ref: TaskRef, failure: RemoteFailure) -> str:
    return f"waiting for the git remote {ref.remote.name}: {failure.message}"


def _create_lost_error(ref: TaskRef) -> GitError:
    message = f"{ref.name} at {ref.remote.name} has the work of another machine, which took over the task"
    return GitError(Code.PUSH_REJECTED, message, "the other machine continues the task")
