"""Complete an outcome with the result of its task: branch, commit, diffstat, cost and last answer."""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from ostler.errors import OstlerError
from ostler.files.layout import Layout
from ostler.git.commit.diff import read_diff_stat
from ostler.git.discovery import discover_repository
from ostler.model.outcome import DiffStat, Outcome
from ostler.model.rows import decode_state
from ostler.model.state import State
from ostler.prompt.completion import strip_final_mark
from ostler.store.sqlite import SqliteJournal

_SUMMARY_CHARS = 2000


def add_details(outcome: Outcome, layout: Layout, journal: SqliteJournal) -> Outcome:
    """Return the outcome with what its task produced; unchanged for a task without a row."""
    row = journal.row(outcome.task_id)
    if row is None:
        return outcome
    state = decode_state(row)
    return replace(
        outcome,
        branch=state.branch,
        commit=state.commit,
        output_path=state.output,
        pr_url=state.pr_url,
        cost_usd=state.cost_usd,
        diffstat=_measure(state, layout),
        summary=_read_answer(state, layout),
    )


def _measure(state: State, layout: Layout) -> DiffStat | None:
    if not state.base or not state.commit:
        return None
    # The branch may have been deleted since; the outcome itself is still valid.
    with suppress(OstlerError):
        repository = discover_repository(layout.root)
        return None if repository is None else read_diff_stat(repository, state.base, state.commit)
    return None


def _read_answer(state: State, layout: Layout) -> str:
    if not state.answer:
        return ""
    try:
        text = (layout.task(state.task) / state.answer).read_text("utf-8", "replace")
    except OSError:
        return ""
    return strip_final_mark(text).strip()[:_SUMMARY_CHARS]
