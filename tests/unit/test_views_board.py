"""A task in a list: its group, and the action that it needs from a person."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ostler.errors import Code
from ostler.model.status import TaskStatus
from ostler.model.usage import Usage
from ostler.views.lists.board import Counts, statuses_of, view_counts, view_row
from ostler.views.lists.lanes import Lane
from ostler.views.task import GateView, PhaseView, TaskView

_GATE = GateView("auto", "pending", "", None)
TASK = TaskView(
    id="fix-ab12",
    title="Fix",
    status=TaskStatus.PENDING,
    weight="small",
    priority="P2",
    phase="implement",
    iteration=1,
    branch=None,
    commit=None,
    worktree=None,
    session_id=None,
    code=None,
    message="",
    warnings=(),
    resumes_at=None,
    usage=Usage(10, 5),
    cost_usd=None,
    created_at="",
    updated_at="",
    phases=(
        PhaseView("plan", "completed", 1, None, _GATE),
        PhaseView("implement", "pending", 0, None, _GATE),
        PhaseView("test", "pending", 0, None, _GATE),
    ),
)
LANE = Lane("fix-ab12", 0.0, "implement", 1, "edit a.py", live=Usage(100, 20))


@pytest.mark.parametrize(
    ("status", "code", "asks"),
    [
        ("needs_review", None, "approve"),
        ("blocked", Code.NEEDS_INPUT, "reply"),
        ("blocked", Code.STUCK, "reply"),
        ("blocked", Code.GATE_REJECTED, "approve"),
        ("blocked", Code.GATE_UNRUNNABLE, "approve"),
        ("blocked", Code.DEPENDENCY_FAILED, "resume"),
        ("paused", None, "resume"),
        ("paused", Code.BUDGET_EXCEEDED, "retry"),
        ("failed", Code.AGENT_FAILED, "retry"),
        ("cancelled", Code.ABORTED, "retry"),
        ("pending", None, None),
        ("in_progress", None, None),
        ("deferred", Code.QUOTA_EXCEEDED, None),
        ("completed", None, None),
    ],
)
def test_what_a_task_asks_for(status: str, code: Code | None, asks: str | None) -> None:
    """The one action that a person can take."""
    assert view_row(replace(TASK, status=TaskStatus(status), code=code), None).asks == asks


def test_a_running_task_shows_what_it_does() -> None:
    """Its last action, its tokens with those of the running attempt, and its phase as running."""
    row = view_row(replace(TASK, status=TaskStatus.IN_PROGRESS), LANE)
    assert (row.activity, row.since, row.tokens) == ("edit a.py", "1970-01-01T00:00:00.000Z", 135)
    assert [mark.status for mark in row.phases] == ["completed", "running", "pending"]


def test_a_task_at_rest_has_no_lane() -> None:
    """A task that does not run has no activity, although a lane of it is left."""
    row = view_row(TASK, LANE)
    assert (row.activity, row.since, row.tokens) == ("", None, 15)
    assert [mark.status for mark in row.phases] == ["completed", "pending", "pending"]


@pytest.mark.parametrize(
    ("status", "pr_url", "output_path", "branch", "result"),
    [
        ("completed", "https://example.org/pull/1", None, "ostler/fix", "https://example.org/pull/1"),
        ("completed", None, "docs/plan.md", None, "docs/plan.md"),
        ("approved", None, None, "ostler/fix", "ostler/fix"),
        ("failed", None, None, "ostler/fix", None),
    ],
)
def test_what_came_out(
    status: str, pr_url: str | None, output_path: str | None, branch: str | None, result: str | None
) -> None:
    """A pull request before a document, a document before a branch, and only for a completed task."""
    made = {"pr_url": pr_url, "output_path": output_path, "branch": branch}
    assert view_row(replace(TASK, status=TaskStatus(status), **made), None).result == result


def test_counts_are_by_group() -> None:
    """Tasks without a run count as waiting; failed ones need a person, paused ones do not."""
    counts = {
        "in_progress": 3,
        "pending": 2,
        "deferred": 1,
        "blocked": 4,
        "failed": 5,
        "approved": 6,
        "paused": 7,
    }
    needs = {"question": 4, "failed": 5, "paused": 7}
    counted = Counts(needs_you=9, running=2, waiting=4, done=6, ended=5, paused=7)
    assert view_counts(counts, 1, needs) == counted


def test_which_statuses_a_query_means() -> None:
    """A group, some names, or both; a contradiction finds no task."""
    assert statuses_of(None, ()) == ()
    assert statuses_of("done", ()) == ("completed", "approved")
    assert statuses_of(None, ["failed", "paused"]) == ("paused", "failed")
    assert statuses_of("needs_you", ["failed", "paused"]) == ("paused",)
    assert statuses_of("done", ["failed"]) == ("",)


def test_every_status_has_a_group() -> None:
    """A new status without a group fails here."""
    for status in TaskStatus:
        assert view_row(replace(TASK, status=status), None).group


def test_a_proposal_is_marked() -> None:
    """The board shows that nothing was done yet."""
    assert view_row(replace(TASK, status=TaskStatus.NEEDS_REVIEW, held=True), None).held
