"""The workspace of a task: a worktree of its own, or the project's directory where there is no git."""

from __future__ import annotations

from pathlib import Path

from ostler.engine.steps.checkout import remove_checkout
from ostler.engine.steps.tools import Tools
from ostler.files.atomic import make_private_dir, write_projection
from ostler.files.fingerprint import fingerprint
from ostler.git import worktree as worktrees
from ostler.git.diff import changed
from ostler.git.refs import find_base
from ostler.git.registration import is_empty
from ostler.git.remote import record_remotes
from ostler.git.repository import Repository, Worktree, worktree_at
from ostler.git.trash import empty_later
from ostler.git.warm import Pool, tidy_later
from ostler.model.event import TaskStarted, WorkspaceReleased
from ostler.model.remote import Remote
from ostler.model.state import State
from ostler.model.status import TaskStatus

_BEFORE = "before.fingerprint"


def prepare(state: State, tools: Tools) -> TaskStarted:
    """Make the workspace, or make sure that it is as it was left."""
    repository = tools.repository
    if state.plan.document:
        make_private_dir(working_directory(state, tools))
        return TaskStarted()
    if repository is None:
        _remember_before(state, tools)
        return TaskStarted()
    found = None if state.base else find_base(repository, tools.settings.git.target)
    base, target = (found.commit, found.branch) if found else (state.base or "", state.target)
    branch = state.branch or f"{tools.settings.git.branch_prefix}{state.task}"
    path, warm = tools.layout.worktree(state.task), tools.settings.git.warm_worktrees
    made = worktrees.prepare(repository, path, branch, base, state.task, warm)
    empty_later(tools.layout.worktrees)
    remotes = _remotes(state, repository, target, tools) if found else None
    return TaskStarted(str(made.path), made.branch, made.base, target, remotes)


def _remotes(
    state: State, repository: Repository, target: str | None, tools: Tools
) -> tuple[Remote, ...] | None:
    """Where the task will push to, read before any agent could change it."""
    if state.plan.publish != "pr" or state.remotes is not None:
        return None
    return record_remotes(repository, target or "", tools.settings.git.push_remote)


def release(state: State, tools: Tools) -> WorkspaceReleased:
    """Take the worktree away where the settings say so, or where nothing of it is left; the branch stays."""
    remove_checkout(state.task, tools)
    settings = tools.settings.git
    done = state.status is TaskStatus.COMPLETED
    wanted = settings.cleanup_on_complete if done else settings.cleanup_on_fail
    worktree = worktree_of(state, tools)
    if worktree is None or not (wanted or is_empty(worktree.path)):
        return WorkspaceReleased(kept=worktree is not None)
    worktrees.release(worktree, settings.warm_worktrees)
    tidy_later(Pool(tools.layout.worktrees, settings.warm_worktrees), worktree.repository)
    return WorkspaceReleased()


def worktree_of(state: State, tools: Tools) -> Worktree | None:
    repository = tools.repository
    if repository is None or state.worktree is None or state.branch is None or state.base is None:
        return None
    return worktree_at(repository, Path(state.worktree), state.branch, state.base)


def working_directory(state: State, tools: Tools) -> Path:
    """Where the agent works; a writer at an empty desk, as nobody but us changes the project."""
    if state.plan.document:
        return tools.layout.task(state.task) / "desk"
    worktree = worktree_of(state, tools)
    return tools.layout.root if worktree is None else worktree.cwd


def has_changed(state: State, tools: Tools) -> bool:
    """Whether anything in the workspace is not as it was when the task began."""
    worktree = worktree_of(state, tools)
    if worktree is not None:
        return changed(worktree, worktree.base)
    before = tools.layout.task(state.task) / _BEFORE
    return not before.exists() or before.read_text() != fingerprint(tools.layout.root)


def _remember_before(state: State, tools: Tools) -> None:
    before = tools.layout.task(state.task) / _BEFORE
    if not before.exists():
        write_projection(before, fingerprint(tools.layout.root).encode())
