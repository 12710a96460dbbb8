"""Checkpoint: one commit of what the phase left, made once however often it is tried."""

from __future__ import annotations

from ostler.engine.core.step import Checkpoint
from ostler.engine.steps.document import write_document
from ostler.engine.steps.tools import Answer, Case, Tools, to_its_end
from ostler.engine.steps.workspace import worktree_of
from ostler.errors import Code, GitError
from ostler.files.failpoint import reach
from ostler.git import commit as commits
from ostler.git.identity import read_identity
from ostler.model.event import CheckpointMade

_ENOUGH = 16  # letters of a tree's name; only equal or not is asked


async def make_checkpoint(step: Checkpoint, case: Case, tools: Tools) -> Answer:
    if case.state.plan.document:
        return Answer(await to_its_end(write_document, step, case, tools))
    if case.state.worktree is None:
        return Answer(CheckpointMade(step.phase))
    reach("checkpoint.commit")
    made = await to_its_end(_commit, step, case, tools)
    reach("checkpoint.committed")
    return Answer(CheckpointMade(step.phase, made.commit, made.tree[:_ENOUGH]))


def _commit(step: Checkpoint, case: Case, tools: Tools) -> commits.Checkpoint:
    attempts = tools.journal.attempts(step.task)
    trailers = {
        "Task-Id": step.task,
        "Phase": step.phase,
        "Attempt": str(attempts[-1].number if attempts else 0),
        "Step": step.key,
    }
    what = "completed" if step.completes else f"iteration {case.state.iteration - 1}"
    subject = f"{tools.settings.git.commit_prefix} {step.task}: {step.phase} - {what}"
    worktree = worktree_of(case.state, tools)
    if worktree is None:
        raise GitError(Code.WORKTREE_LOST, f"the worktree of {step.task} is not in a git repository any more")
    return commits.checkpoint(worktree, subject.strip(), trailers, read_identity(worktree.repository))
