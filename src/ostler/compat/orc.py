"""The names of orc's executor package, on Ostler's engine.

    from ostler import Task
    from ostler.compat.orc import EventPublisher, Executor

    async def main():
        publisher = EventPublisher(print)
        outcome = await Executor(".", publisher=publisher).execute_task(Task("Fix the login redirect"))
        print(outcome.status, outcome.commit)

`Executor` and `ExecutorConfig` are only here: in `ostler.compat` these are the names of other systems.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from ostler.clock import SystemClock
from ostler.compat.orc_events import Event, EventPublisher, Publisher, new_event_publisher
from ostler.compat.orc_executor import (
    Executor,
    ExecutorConfig,
    FullExecutor,
    GateDecision,
    PhaseExecutor,
    PhaseResult,
    StandardExecutor,
    TrivialExecutor,
    executor_for_weight,
)
from ostler.errors import Code, GitError, UsageError
from ostler.files.atomic import write_atomic
from ostler.git.commit.diff import has_changed_since
from ostler.git.commit.heads import read_heads
from ostler.git.refs import resolve_commit
from ostler.git.repository import Repository
from ostler.git.worktree.worktree import prepare_worktree, remove_worktree
from ostler.model.ids import adopt_task_id
from ostler.model.plan import RETRY_MAP, Phase, Plan
from ostler.model.task import Task
from ostler.project.project import Project
from ostler.prompt import completion, variables
from ostler.prompt.answer import NO_REASON
from ostler.prompt.retry import Retry, format_retry_file, make_retry_file_name
from ostler.prompt.template import render_template

__all__ = [
    "Event",
    "EventPublisher",
    "Executor",
    "ExecutorConfig",
    "FullExecutor",
    "GateDecision",
    "PhaseCompletion",
    "PhaseExecutor",
    "PhaseResult",
    "Plan",
    "Publisher",
    "Retry",
    "StandardExecutor",
    "TrivialExecutor",
    "build_retry_context",
    "build_template_vars",
    "check_phase_completion",
    "executor_for_weight",
    "new_event_publisher",
    "render_template",
    "save_retry_context_file",
    "setup_worktree",
]

_FAILED = "the phase failed"


class PhaseCompletion(NamedTuple):
    """What an answer reports about its phase."""

    status: Literal["continue", "complete", "blocked"]
    reason: str = ""


def check_phase_completion(content: str, phase: str = "phase") -> PhaseCompletion:
    """Return whether the answer marks its phase as complete or blocked, and the reason.

    `<phase_complete>true</phase_complete>`, the same with the name of the phase, or
    `<phase_blocked>reason: ...</phase_blocked>`. The last mark counts; marks in code and quotes do not.
    """
    mark = completion.check_phase_completion(content, phase)
    if mark is None:
        return PhaseCompletion("continue")
    return PhaseCompletion(mark.kind, "" if mark.reason == NO_REASON else mark.reason)


def build_template_vars(
    task: Task, phase: str | Phase, iteration: int = 1, retry_context: Retry | str | None = None
) -> dict[str, str]:
    """Return a value for every variable of a template; a variable without a value is empty."""
    retry = retry_context if isinstance(retry_context, Retry) else None
    name = phase if isinstance(phase, str) else phase.id
    found = variables.build_template_vars(task, name, iteration, retry)
    return found | {"RETRY_CONTEXT": retry_context} if isinstance(retry_context, str) else found


def build_retry_context(failed_phase: str, output: str, attempt: int, reason: str = "") -> Retry:
    """Return why the work goes back: to the phase that repeats it, else to the failed phase itself."""
    if attempt < 1:
        raise UsageError(f"invalid attempt {attempt}", "the first one is 1")
    to = RETRY_MAP.get(failed_phase, failed_phase)
    return Retry(failed_phase, to, attempt, reason or _FAILED, output)


def save_retry_context_file(task_dir: str | Path, context: Retry) -> Path:
    """Write the whole context to retry-context-PHASE-ATTEMPT.md and return its path."""
    name = make_retry_file_name(context.phase, context.attempt)
    if Path(name).name != name:
        raise UsageError(f"invalid phase {context.phase!r:.80}", "use a name without slashes")
    path = Path(task_dir) / name
    text = format_retry_file(
        context.phase, context.to, context.attempt, SystemClock.now(), context.reason, context.output
    )
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomic(path, text.encode("utf-8", "replace"))
    return path


def setup_worktree(
    git: Repository | str | Path, task_id: str, config: ExecutorConfig | None = None
) -> tuple[Path, Callable[[], bool]]:
    """Create the worktree of a task, or find it, and return its path and the function that removes it.

    The function keeps the branch, and a worktree with changes that no commit contains; it returns whether
    it removed the worktree. Without `config.worktree` the path is that of the project.
    """
    config = config or ExecutorConfig()
    root = git.work_tree / git.prefix if isinstance(git, Repository) else Path(git)
    if not config.worktree:
        return root, lambda: False
    task = adopt_task_id(task_id)
    with Project.open(root, os.environ, create=True) as project:
        repository = project.repository()
        if repository is None:
            raise UsageError(f"{root} is not in a git repository", "run git init, or set worktree=False")
        if project.is_claimed(task):
            raise UsageError(f"a run has claimed {task}", "wait until it has ended")
        base = resolve_commit(repository, "HEAD")
        if not base:
            raise GitError(Code.GIT_NO_COMMITS, f"{root} has no commit yet", "make the first commit")
        path = project.layout.worktree(task)
        made = prepare_worktree(repository, path, f"{config.branch_prefix}{task}", base, task)

    def cleanup() -> bool:
        if not made.path.is_dir() or has_changed_since(made, read_heads(made).tip):
            return False
        remove_worktree(made)
        return True

    return made.cwd, cleanup
