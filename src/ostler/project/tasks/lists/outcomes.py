"""The outcomes of tasks, with their results: branch, commit, diffstat, cost and last answer."""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from ostler.errors import OstlerError
from ostler.files.layout import Layout
from ostler.git.commit.diff import read_diff_stat
from ostler.git.discovery import discover_repository
from ostler.model.ids import TaskId
from ostler.model.outcome import DiffStat, Outcome
from ostler.model.rows import decode_state
from ostler.model.state import State
from ostler.project.project import Project
from ostler.project.tasks.lists.summary import read_summary
from ostler.store.sql_journal import SqlJournal
from ostler.store.store import Store


def read_outcomes(project: Project, tasks: set[TaskId]) -> list[Outcome]:
    """Return the outcomes of tasks that another run has run; without tasks that were removed meanwhile."""
    views = [project.show(row.id) for row in project.journal.named_rows(sorted(tasks))]
    return [Outcome(TaskId(v.id), v.status, v.code, v.message, v.warnings) for v in views]


def add_details(outcomes: list[Outcome], layout: Layout, store: Store) -> list[Outcome]:
    """Return the outcomes with what their tasks produced; opens its own journal, to run in a thread."""
    with store.open_journal() as journal:
        return [add_result(outcome, layout, journal) for outcome in outcomes]


def add_result(outcome: Outcome, layout: Layout, journal: SqlJournal) -> Outcome:
    """Return the outcome with the result of its task; unchanged for a task without a row."""
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
        summary=read_summary(state, layout),
    )


def _measure(state: State, layout: Layout) -> DiffStat | None:
    if not state.base or not state.commit:
        return None
    # The branch may have been deleted since; the outcome itself is still valid.
    with suppress(OstlerError):
        repository = discover_repository(layout.root)
        return None if repository is None else read_diff_stat(repository, state.base, state.commit)
    return None
