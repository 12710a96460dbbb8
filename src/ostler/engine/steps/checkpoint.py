"""Checkpoint: commits the work of a phase; repeating it creates no second commit."""

from __future__ import annotations

from ostler.engine.core.step import Checkpoint
from ostler.engine.steps.agent_call.document import write_document
from ostler.engine.steps.services import StepResult, StepServices, TaskContext, run_in_thread
from ostler.engine.steps.workspaces.worktree import find_worktree
from ostler.errors import Code, GitError
from ostler.files.failpoint import reach
from ostler.git.commit import checkpoint as commits
from ostler.git.identity import read_identity
from ostler.model.event import CheckpointMade

_TREE_PREFIX = 16  # characters of a tree's hash; only compared for equality


async def make_checkpoint(step: Checkpoint, context: TaskContext, services: StepServices) -> StepResult:
    if context.state.plan.is_document:
        return StepResult(await run_in_thread(write_document, step, context, services))
    if context.state.worktree is None:
        return StepResult(CheckpointMade(step.phase))
    reach("checkpoint.commit")
    made = await run_in_thread(_commit, step, context, services)
    reach("checkpoint.committed")
    return StepResult(CheckpointMade(step.phase, made.commit, made.tree[:_TREE_PREFIX]))


def _commit(step: Checkpoint, context: TaskContext, services: StepServices) -> commits.Checkpoint:
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
    return commits.create_checkpoint(worktree, subject.strip(), trailers, read_identity(worktree.repository))
