"""Finds an agent that gives the same answer again and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from ostler.engine.core.step import CallAgent
from ostler.engine.steps.agent_call.evidence import repeats
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.worktree import find_worktree, hash_files
from ostler.model.event import CallEnded, Record


def find_repetition(
    step: CallAgent,
    answer: str,
    since_ns: int | None,
    context: TaskContext,
    services: StepServices,
    last: CallEnded | None,
) -> tuple[bool, str]:
    """Return whether a call repeated the `last` one, and a hash of the files if that takes another call.

    A hash takes several git processes, so it is made only for an answer that was given before. `since_ns` is
    when the call began, by the clock of the files; None: unknown.
    """
    from ostler.git.commit.touched import has_touched  # noqa: PLC0415  (imported on use)

    if find_worktree(context.state, services) is None:
        files = hash_files(context.state, services)
        return last is not None and last.files == files and _repeats(step, answer, last, services), files
    if last is None or not _repeats(step, answer, last, services):
        return False, ""
    worktree = find_worktree(context.state, services)
    if not last.files and worktree is not None and since_ns and not has_touched(worktree, since_ns):
        return True, ""
    files = hash_files(context.state, services)
    return files == last.files, files


def find_last_call(step: CallAgent, records: Sequence[Record]) -> CallEnded | None:
    """Return the call before this one if it was of the same phase."""
    calls = (one.event for one in reversed(records))
    last = next((event for event in calls if isinstance(event, CallEnded)), None)
    return last if last is not None and last.phase == step.phase else None


def _repeats(step: CallAgent, answer: str, last: CallEnded, services: StepServices) -> bool:
    return repeats(read_answer(step, answer, services), read_answer(step, last.answer, services))


def read_answer(step: CallAgent, path: str, services: StepServices) -> str:
    """Return the text of an answer; empty if its file is missing."""
    try:
        return (services.layout.task(step.task) / path).read_text("utf-8", "replace") if path else ""
    except FileNotFoundError:
        return ""
