"""Checkpoint: commits the work of a phase; repeating it creates no second commit."""

from __future__ import annotations

from ostler.calls.thread import run_in_thread
from ostler.engine.core.step import Checkpoint
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.engine.steps.workspaces.left import find_left
from ostler.engine.steps.workspaces.moved_sessions import save_sessions
from ostler.engine.steps.workspaces.moving import push_work
from ostler.engine.steps.workspaces.worktree import find_worktree
from ostler.errors import Code, GitError
from ostler.files.failpoint import reach
from ostler.git.commit import checkpoint as commits
from ostler.git.identity import read_identity
from ostler.git.kept import kept_task_ref
from ostler.git.refs import resolve_tree
from ostler.model.attempt import Attempt
from ostler.model.event import TREE_PREFIX, CheckpointMade
from ostler.model.policy.model_config import ModelConfig


async def make_checkpoint(step: Checkpoint, context: TaskContext, services: StepServices) -> StepResult:
    if context.state.plan.is_document:
        from ostler.engine.steps.agent_call.document import write_document  # noqa: PLC0415  (imported on use)

        return StepResult(await run_in_thread(write_document, step, context, services))
    if context.state.worktree is None:
        return StepResult(CheckpointMade(step.phase))
    reach("checkpoint.commit")
    made = await run_in_thread(_commit, step, context, services)
    reach("checkpoint.committed")
    if services.mover is not None:
        await run_in_thread(save_sessions, context.state, services)
        await run_in_thread(push_work, context.state, services)
    return StepResult(made)


def _commit(step: Checkpoint, context: TaskContext, services: StepServices) -> CheckpointMade:
    """Commit the files; find those that stay outside."""
    attempts = services.journal.attempts(step.task)
    trailers = {
        "Task-Id": step.task,
        "Phase": step.phase,
        "Attempt": str(attempts[-1].number if attempts else 0),
        "Step": step.key,
    }
    what = "completed" if step.completes else f"iteration {context.state.iteration - 1}"
    subject = f"{services.settings.git.commit_prefix} {step.task}: {step.phase} - {what}"
    worktree = find_worktree(context.state, services)
    if worktree is None:
        raise GitError(Code.WORKTREE_LOST, f"the worktree of {step.task} is no longer in a git repository")
    author, keep = read_identity(worktree.repository), kept_task_ref(step.task)
    also = (services.layout.task(step.task),)
    made = commits.create_checkpoint(worktree, subject.strip(), trailers, author, keep=keep, also=also)
    unchanged = made.tree == resolve_tree(worktree.repository, worktree.base)
    left = find_left(worktree, services.settings.workspace)
    return CheckpointMade(
        step.phase,
        made.commit,
        made.tree[:TREE_PREFIX],
        unchanged=unchanged and _can_change_files(attempts, context, services),
        left=left if left.count else None,
    )


def _can_change_files(attempts: list[Attempt], context: TaskContext, services: StepServices) -> bool:
    """Return whether the last agent changes files; the answer of a model API is the result."""
    if not attempts:
        return True
    model = ModelConfig(attempts[-1].executor, attempts[-1].executor)
    return services.make_executor(model, context.lock).capabilities.changes_files
