"""An item of the inbox: the row of a task with what a decision needs."""

from __future__ import annotations

from msgspec.structs import replace
from test_views_board import TASK

from ostler.model.status import TaskStatus
from ostler.views.accept import ConflictView
from ostler.views.lists.inbox import InboxCounts, view_item
from ostler.views.result import ChangeSize, GateTick, tick_gates
from ostler.views.task import GateView, NamedGateView, PhaseView
from ostler.views.verdicts import CommitVerdict, Verdicts

SHA = "a" * 40
PASSED = GateView("command", "pass", "3 passed", SHA)
REVIEW = replace(
    TASK,
    status=TaskStatus.NEEDS_REVIEW,
    commit=SHA,
    message="Look at the prices.",
    phases=(
        PhaseView("implement", "completed", 1, SHA, PASSED),
        PhaseView("test", "completed", 1, SHA, replace(PASSED, verdict="fail", sha="b" * 40)),
        PhaseView("review", "pending", 0, None, GateView("human", "pending", "", None)),
        PhaseView("notes", "completed", 1, SHA, GateView("auto", "not_checked", "", None)),
    ),
    gates=(NamedGateView("lint", PASSED),),
    verdicts=Verdicts(
        SHA,
        False,
        "",
        (
            CommitVerdict("implement", "pass", "", True),
            CommitVerdict("test", "fail", "", False),
            CommitVerdict("lint", "pass", "", True),
        ),
    ),
)


def test_gates_are_ticked_for_the_shown_commit() -> None:
    """A verdict of an older commit is marked; a gate that waits or checks nothing has no tick."""
    assert tick_gates(REVIEW) == (
        GateTick("implement", "pass", "3 passed", True),
        GateTick("test", "fail", "3 passed", False),
        GateTick("lint", "pass", "3 passed", True),
    )


def test_an_item_has_the_question_only_if_an_answer_is_needed() -> None:
    """The message of a review is no question."""
    size = ChangeSize(2, 30, 4)
    review = view_item(REVIEW, "review", "2026-11-19T09:00:00.000Z", "Rounded the prices.", size)
    assert (review.title, review.kind, review.question, review.asks) == ("Fix", "review", "", "approve")
    assert (review.summary, review.diffstat, review.waiting_since[:4]) == (
        "Rounded the prices.",
        size,
        "2026",
    )
    asked = view_item(replace(REVIEW, status=TaskStatus.BLOCKED), "question", "", "", None)
    assert (asked.question, asked.asks) == ("Look at the prices.", "reply")


def test_own_pauses_are_not_urgent() -> None:
    """The number of tasks that need a person leaves out what the person paused."""
    assert InboxCounts(question=1, review=2, failed=3, paused=40).urgent == 6


def test_a_conflict_replaces_the_question() -> None:
    """The files and both ways to solve it are shown instead of the text for a terminal."""
    conflict = ConflictView(("a.py",), "main", None, "Resolve it.", ("git merge main",))
    blocked = replace(REVIEW, status=TaskStatus.BLOCKED, conflict=conflict)
    item = view_item(blocked, "question", "", "", None)
    assert (item.question, item.conflict) == ("", conflict)
