"""The workspace of a task: a worktree, or the project's directory without git."""

from __future__ import annotations

from pathlib import Path

from ostler.engine.steps.services import StepServices
from ostler.engine.steps.workspaces.base import choose_base
from ostler.errors import Code, GitError
from ostler.files.atomic import make_private_dir, write_projection
from ostler.files.fingerprint import fingerprint
from ostler.files.flush import flush_filesystems
from ostler.git.commit.heads import read_heads
from ostler.git.kept import is_kept, keep_task_commit
from ostler.git.publish.remote import record_remotes
from ostler.git.refs import find_tip, has_commit, restore_branch
from ostler.git.repository import Repository, Worktree, locate_worktree
from ostler.git.worktree import worktree as worktrees
from ostler.git.worktree.registration import WorktreeState, inspect_worktree, is_empty
from ostler.git.worktree.trash import empty_trash_later, erase
from ostler.git.worktree.worktree_pool import find_pool, tidy_pool_later
from ostler.model.event import TaskStarted, WorkspaceReleased
from ostler.model.policy.remote import Remote
from ostler.model.state import State
from ostler.model.status import TaskStatus

_BEFORE = "before.fingerprint"
_FLUSHED = "ostler-flushed"  # in the git directory of the worktree, and deleted with it
# Agents bind sessions to their working directory: another path loses those of open tasks.
_DOCUMENT_WORKSPACE = "desk"


def prepare_worktree(state: State, services: StepServices) -> TaskStarted:
    """Create the workspace, or repair it."""
    repository = services.repository
    if state.plan.is_document:
        make_private_dir(working_directory(state, services))
        return TaskStarted()
    if repository is None:
        _require_no_branch(state, services)
        _save_fingerprint(state, services)
        return TaskStarted()
    found = None if state.base else choose_base(repository, state, services)
    base, target = (found.commit, found.target) if found else (state.base or "", state.target)
    branch = state.branch or f"{services.settings.git.branch_prefix}{state.task}"
    if state.worktree is None and (commit := state.tip or state.commit):
        restore_branch(repository, branch, commit)
    path, pool = services.layout.worktree(state.task), find_pool(services.layout.worktrees, services.settings)
    flushed = repository.common_dir / "worktrees" / path.name / _FLUSHED
    if not flushed.exists():
        _discard_unused(state, locate_worktree(repository, path, branch, base), services)
    made = worktrees.prepare_worktree(repository, path, branch, base, state.task, pool.limit)
    if not flushed.exists():
        # The commit of a phase flushes only what its agent wrote.
        flush_filesystems((made.path, repository.common_dir))
        flushed.touch()
    empty_trash_later(services.layout.worktrees)
    remotes = _record_remotes(state, repository, target, services) if found else None
    predecessors = found.predecessors if found else None
    return TaskStarted(made.path.name, made.branch, made.base, target, remotes, predecessors)


def _discard_unused(state: State, worktree: Worktree, services: StepServices) -> None:
    """Discard a worktree without work whose files were not flushed: a power cut may have damaged them."""
    is_whole = inspect_worktree(worktree) is WorktreeState.COMPLETE
    if is_whole and state.worktree is None and not services.journal.attempts(state.task):
        worktrees.release_worktree(worktree)


def _require_no_branch(state: State, services: StepServices) -> None:
    """Raise if the repository with the task's work is gone: the agent must not work on the user's files."""
    if state.branch is not None and services.settings.git.worktree:
        message = f"{services.layout.root} has no git repository, but {state.task} has work on {state.branch}"
        raise GitError(Code.GIT_CORRUPT, message, "restore .git; then run again; the task keeps its progress")


def _record_remotes(
    state: State, repository: Repository, target: str | None, services: StepServices
) -> tuple[Remote, ...] | None:
    """Return the remotes to push to, read before an agent can change them."""
    if state.remotes is not None:
        return None
    return record_remotes(repository, target or "", services.settings.git.push_remote)


def release_workspace(state: State, services: StepServices) -> WorkspaceReleased:
    """Remove the worktree if the settings say so or it is empty; the branch is kept."""
    from ostler.engine.steps.workspaces.checkout import remove_checkout  # noqa: PLC0415  (imported on use)
    from ostler.engine.steps.workspaces.left import find_left, keep_left  # noqa: PLC0415  (imported on use)

    remove_checkout(state.task, services)
    settings = services.settings.git
    done = state.status is TaskStatus.COMPLETED
    cleans_up = settings.cleanup_on_complete if done else settings.cleanup_on_fail
    worktree = find_worktree(state, services)
    commit = _keep_commit(state, services)
    if worktree is None or not (cleans_up or is_empty(worktree.path)):
        left = find_left(worktree, services.settings.workspace) if worktree else None
        return WorkspaceReleased(worktree is not None, commit, left)
    if state.claims > 1 and not is_empty(worktree.path):
        _require_no_changes(worktree)
    left = keep_left(state, worktree, services.settings.workspace, services.layout)
    if left.note:
        return WorkspaceReleased(kept=True, commit=commit, left=left)
    pool = find_pool(services.layout.worktrees, services.settings)
    worktrees.release_worktree(worktree, pool.limit)
    sandbox = services.layout.sandbox(state.task)
    erase(sandbox, services.layout.worktrees)
    if services.repository is not None:  # that of the worktree is gone now
        tidy_pool_later(pool, services.repository)
    return WorkspaceReleased(commit=commit, left=left)


def _require_no_changes(worktree: Worktree) -> None:
    """Raise for changes that no step committed: a person made them between two runs (`ostler shell`)."""
    from ostler.git.commit.diff import has_changed_since  # noqa: PLC0415  (imported on use)

    if has_changed_since(worktree, read_heads(worktree).tip):
        where = worktree.path
        raise GitError(
            Code.WORKSPACE_WRITE_FAILED, f"{where} has changes that are not part of the task's commit"
        )


def _keep_commit(state: State, services: StepServices) -> str | None:
    """Keep the last commit under refs/ostler, so that the task can be shown without its branch."""
    if services.repository is None or state.branch is None:
        return None
    commit = find_tip(services.repository, state.branch) or state.commit
    if commit is None or is_kept(services.repository, state.task, commit):
        return commit
    if has_commit(services.repository, commit):
        keep_task_commit(services.repository, state.task, commit)
    return commit


def find_worktree(state: State, services: StepServices) -> Worktree | None:
    repository = services.repository
    if repository is None or state.worktree is None or state.branch is None or state.base is None:
        return None
    path = services.layout.worktree_of_record(state.worktree)
    return locate_worktree(repository, path, state.branch, state.base)


def working_directory(state: State, services: StepServices) -> Path:
    """Return the agent's working directory; an empty one for documents, which must not change the project."""
    if state.plan.is_document:
        return services.layout.desk(state.task) / _DOCUMENT_WORKSPACE
    worktree = find_worktree(state, services)
    return services.layout.root if worktree is None else worktree.cwd


def has_changed(state: State, services: StepServices) -> bool:
    """Return whether the workspace has changed since the task started."""
    from ostler.git.commit.diff import has_changed_since  # noqa: PLC0415  (imported on use)

    worktree = find_worktree(state, services)
    if worktree is not None:
        return has_changed_since(worktree, worktree.base)
    before = services.layout.task(state.task) / _BEFORE
    return not before.exists() or before.read_text() != fingerprint(services.layout.root)


def hash_files(state: State, services: StepServices) -> str:
    """Return a hash of the files in the workspace, equal for equal files."""
    from ostler.git.commit.diff import write_current_tree  # noqa: PLC0415  (imported on use)

    worktree = find_worktree(state, services)
    return fingerprint(services.layout.root) if worktree is None else write_current_tree(worktree)


def _save_fingerprint(state: State, services: StepServices) -> None:
    before = services.layout.task(state.task) / _BEFORE
    if not before.exists():
        write_projection(before, fingerprint(services.layout.root).encode())
