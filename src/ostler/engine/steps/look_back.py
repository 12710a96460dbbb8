"""What is known of a task's work when its agent's memory of it is gone."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ostler.engine.steps.tools import Tools
from ostler.engine.steps.workspace import worktree_of
from ostler.errors import OstlerError
from ostler.git.changes import list_changes, list_commits
from ostler.model.attempt import Attempt
from ostler.model.state import State
from ostler.prompt.summary import Work

_COMMITS = 50  # more than are told
_PAGE_BYTES = 8000


def look_back(state: State, attempts: list[Attempt], tools: Tools) -> Work:
    """The attempts of this round, what they changed and committed, and what was said last. Runs git."""
    known = tuple(attempt for attempt in attempts if attempt.step.startswith(f"{state.task}/{state.round}."))
    answers = [_read_paper(attempt, ".answer.md", tools) for attempt in known]
    work = Work(
        attempts=known,
        warnings=state.warnings,
        last_answer=next(filter(None, reversed(answers)), ""),
        last_page=_read_paper(known[-1], ".md", tools) if known and not answers[-1] else "",
    )
    return _with_changes(work, state, tools)


def _with_changes(work: Work, state: State, tools: Tools) -> Work:
    worktree = worktree_of(state, tools)
    if worktree is None:
        return work
    try:
        return replace(work, files=list_changes(worktree), commits=list_commits(worktree, _COMMITS))
    except OstlerError:
        return work  # what is wrong with the workspace is told by the step that cannot do without it


def _read_paper(attempt: Attempt, suffix: str, tools: Tools) -> str:
    """The end of one of the attempt's papers; empty where there is none."""
    path = (tools.layout.task(attempt.task) / attempt.transcript).with_suffix(suffix)
    return _read_end(path).removeprefix(f"# {attempt.phase}, attempt {attempt.number}").strip()


def _read_end(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _PAGE_BYTES))
            return file.read().decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""
