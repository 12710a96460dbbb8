"""The common base of tasks that build on each other: a commit, or a clean merge of several."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ostler.errors import Code, GitError
from ostler.git.identity import Identity
from ostler.git.names import format_files
from ostler.git.publish.merge import MergeConflict, is_ancestor, merge_with_markers
from ostler.git.refs import has_commit
from ostler.git.repository import Repository
from ostler.git.run.command import LONG_SECONDS, query_git, run_git
from ostler.git.run.failure import with_git_errors
from ostler.model.ids import TaskId

_PATCH = ("-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
_MAX_SEARCHED = 1000  # commits of the target that are compared with a squash-merged task


class Work(Struct, frozen=True):
    """The commits of a completed task."""

    task: TaskId
    base: str
    commit: str


class Stack(Struct, frozen=True):
    """The commit that a task starts from."""

    commit: str
    unmerged: tuple[TaskId, ...] = ()  # tasks whose work the target does not contain


@with_git_errors
def build_base(
    repository: Repository, start: str, works: tuple[Work, ...], task: str, identity: Identity
) -> Stack:
    """Return a commit that contains the start and all works; no branch and no file changes.

    Raises MergeConflict, with the names of both tasks and the files, if they do not merge cleanly.
    """
    for work in works:
        _require_commits(repository, work)
    unmerged = [work for work in works if not is_contained(repository, work, start)]
    if not unmerged:
        return Stack(start)
    heads: dict[str, str] = {work.commit: work.task for work in unmerged}
    if len(unmerged) < len(works):
        # The target has the work of another predecessor, which these commits may lack.
        heads = {start: "the target", **heads}
    names = tuple(work.task for work in unmerged)
    return Stack(_merge_heads(repository, _drop_ancestors(repository, heads), task, identity), names)


@with_git_errors
def is_contained(repository: Repository, work: Work, target: str) -> bool:
    """Return whether a commit has the work of a task: merged, rebased, squashed or picked."""
    if is_ancestor(repository, work.commit, target):
        return True
    trees = _read_trees(repository, work.base, work.commit, target)
    if trees[0] == trees[1]:
        return True
    merged, conflicts = merge_with_markers(repository, target, work.commit)
    if not conflicts and merged == trees[2]:
        return True
    return _has_patch(repository, work, target)


def _merge_heads(repository: Repository, heads: dict[str, str], task: str, identity: Identity) -> str:
    (merged, first), *others = heads.items()
    names = [first]
    for commit, name in others:
        tree, files = merge_with_markers(repository, merged, commit)
        if files:
            raise _create_conflict(task, " and ".join(names), name, files)
        names.append(name)
        merged = _write_merge(
            repository, tree, (merged, commit), f"{task}: merge {', '.join(names)}", identity
        )
    return merged


def _write_merge(
    repository: Repository, tree: str, parents: tuple[str, str], message: str, identity: Identity
) -> str:
    """Write a merge; the same parents give the same commit, so that a run after a crash finds it."""
    date = max(query_git(repository, "log", "-1", "--format=%ct", one) for one in parents)
    dates = {"GIT_AUTHOR_DATE": f"{date} +0000", "GIT_COMMITTER_DATE": f"{date} +0000"}
    args = ("commit-tree", tree, "-p", parents[0], "-p", parents[1], "-F", "-")
    env = identity.environment() | dates
    return run_git(repository, *args, stdin=f"{message}\n".encode(), env=env).stdout.decode().strip()


def _drop_ancestors(repository: Repository, heads: dict[str, str]) -> dict[str, str]:
    """Return the commits that no other of them contains."""
    return {
        commit: name
        for commit, name in heads.items()
        if not any(is_ancestor(repository, commit, other) for other in heads if other != commit)
    }


def _has_patch(repository: Repository, work: Work, target: str) -> bool:
    """Return whether one commit of the target makes exactly the changes of the task."""
    diff = run_git(
        repository, "diff-tree", "-r", *_PATCH, "--end-of-options", work.base, work.commit, "--",
        timeout_seconds=LONG_SECONDS,
    ).stdout  # fmt: skip
    fork = query_git(repository, "merge-base", work.commit, target).partition("\n")[0]
    if not fork:
        return False
    log = ("log", *_PATCH, "--no-merges", f"--max-count={_MAX_SEARCHED}", "--format=commit %H")
    patches = run_git(repository, *log, f"{fork}..{target}", "--", timeout_seconds=LONG_SECONDS).stdout
    own = set(_read_patch_ids(repository, diff))
    return bool(own) and not own.isdisjoint(_read_patch_ids(repository, patches))


def _read_patch_ids(repository: Repository, patches: bytes) -> Iterable[str]:
    output = run_git(repository, "patch-id", "--stable", stdin=patches, timeout_seconds=LONG_SECONDS).stdout
    return (line.split()[0] for line in output.decode().splitlines())


def _read_trees(repository: Repository, *commits: str) -> list[str]:
    names = [f"{commit}^{{tree}}" for commit in commits]
    return run_git(repository, "rev-parse", *names).stdout.decode().split()


def _require_commits(repository: Repository, work: Work) -> None:
    for commit in (work.base, work.commit):
        if not has_commit(repository, commit):
            message = f"commit {commit:.10} of {work.task} is not in the repository any more"
            raise GitError(Code.WORKTREE_LOST, message, "restore it with git fetch, or create a new task")


def _create_conflict(task: str, first: str, second: str, files: list[str]) -> MergeConflict:
    message = (
        f"{task} comes after {first} and {second}, which both changed {format_files(files)}; "
        "its base was not created"
    )
    hint = f"merge both into the target and resolve the conflict there, then: ostler resume {task}"
    return MergeConflict(message, hint, tuple(files))
