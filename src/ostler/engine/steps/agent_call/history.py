"""Collects the history of a task for an agent that starts a new session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ostler.calls.attempts.page import read_response
from ostler.calls.attempts.session import round_of
from ostler.engine.steps.services import StepServices
from ostler.engine.steps.workspaces.worktree import find_worktree
from ostler.errors import OstlerError
from ostler.model.attempt import Attempt
from ostler.model.state import State

if TYPE_CHECKING:
    from ostler.prompt.summary import WorkHistory

_COMMITS = 50  # more than the summary shows
_PAGE_BYTES = 8000


def summarize_history(state: State, attempts: list[Attempt], services: StepServices) -> WorkHistory:
    """Return the attempts whose session the phase could continue, their changes, and the last answer."""
    from ostler.prompt.summary import WorkHistory  # noqa: PLC0415  (imported on use)

    first, prefix = state.phases[state.phase].first_round, f"{state.task}/"
    own = tuple(one for one in attempts if one.step.startswith(prefix) and round_of(one) >= first)
    answers = [_read_attempt_file(attempt, ".answer.md", services) for attempt in own]
    work = WorkHistory(
        attempts=own,
        warnings=state.warnings,
        last_answer=next(filter(None, reversed(answers)), ""),
        log_tail=_read_attempt_file(own[-1], ".md", services) if own and not answers[-1] else "",
    )
    return _add_changes(work, state, services)


def _add_changes(work: WorkHistory, state: State, services: StepServices) -> WorkHistory:
    from ostler.git.commit.diff import list_changes, list_commits  # noqa: PLC0415  (imported on use)

    worktree = find_worktree(state, services)
    if worktree is None:
        return work
    try:
        return replace(work, files=list_changes(worktree), commits=list_commits(worktree, _COMMITS))
    except OstlerError:
        # A step that needs the workspace reports what is wrong with it.
        return work


def _read_attempt_file(attempt: Attempt, suffix: str, services: StepServices) -> str:
    """Return the end of one of the attempt's files; empty if it does not exist."""
    path = (services.layout.task(attempt.task) / attempt.transcript).with_suffix(suffix)
    response = read_response(_read_end(path))
    return response.removeprefix(f"# {attempt.phase}, attempt {attempt.number}").strip()


def _read_end(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _PAGE_BYTES))
            return file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
