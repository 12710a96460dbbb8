"""Separates faults of the whole project from those of a task: the first end the run, and no task fails."""

from __future__ import annotations

from ostler.engine.steps.services import StepServices
from ostler.errors import Code, GitError, OstlerError, UsageError
from ostler.files.disk import require_writable
from ostler.files.layout import Layout
from ostler.git.probe import find_repository_fault
from ostler.git.repository import Repository
from ostler.text import describe_os_error

# The codes that a missing git, a broken configuration, a damaged repository, a git that hangs, or a
# directory that cannot be written leads to, in any step.
_SUSPECT = frozenset(
    {
        Code.GIT_CORRUPT,
        Code.GIT_LOCKED,
        Code.WORKTREE_LOST,
        Code.WORKSPACE_WRITE_FAILED,
        Code.USAGE,
        Code.UNKNOWN,
    }
)
_HINT = "run again; the tasks keep their progress"


def find_project_fault(error: OstlerError, services: StepServices) -> OstlerError | None:
    """Return why no task of the project can continue now; None if the error is about one task."""
    layout, repository = services.layout, services.repository
    if (unwritable := _find_unwritable(layout, repository)) is not None:
        return unwritable
    if layout.root.is_dir() and (loss := services.store.find_loss()) is not None:
        return loss
    if not layout.root.is_dir():
        message = f"the project {layout.root} was moved or deleted while it was in use"
        return OstlerError(Code.WORKSPACE_WRITE_FAILED, message, f"go to where it is now and {_HINT}")
    if not isinstance(error, GitError) or error.code not in _SUSPECT:
        return None
    # Without a repository, git fails only for a task that had one before.
    return error if repository is None else _probe(repository, services.settings.git.branch_prefix)


def _find_unwritable(layout: Layout, repository: Repository | None) -> OstlerError | None:
    """Return the error for a directory of the project without permission: each task would fail."""
    common = [repository.common_dir / name for name in ("", "objects", "refs")] if repository else []
    for place in (layout.root, layout.view, layout.worktrees, layout.state, layout.tasks, *common):
        try:
            require_writable(place)
        except UsageError as error:
            return error
        except OSError as error:  # of a directory above it
            return UsageError(
                f"cannot write in {place}: {describe_os_error(error)}",
                f"make it writable; then {_HINT}",
            )
    return None


def require_repository(repository: Repository | None, branch_prefix: str) -> None:
    """Raise GitError if no task can use the repository now."""
    if repository is not None and (fault := _probe(repository, branch_prefix)):
        raise fault


def _probe(repository: Repository, branch_prefix: str) -> GitError | None:
    if not repository.common_dir.is_dir():
        message = f"the git repository {repository.common_dir} was moved or deleted"
        return GitError(Code.GIT_CORRUPT, message, f"restore it; then {_HINT}")
    fault = find_repository_fault(repository, branch_prefix)
    if fault is None:
        return None
    code = Code.GIT_CORRUPT if fault.code is Code.UNKNOWN else fault.code
    return GitError(code, fault.message, f"{fault.hint or 'repair it'}; then {_HINT}")
