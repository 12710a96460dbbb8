"""What a task needs from a person: one rule for the store, the board and the buttons."""

from __future__ import annotations

import itertools
from pathlib import Path

import apsw
import msgspec
import pytest

from ostler.errors import Code
from ostler.model.policy.needs import NEEDS, URGENT, find_need
from ostler.model.status import TaskStatus
from ostler.store.sqlite.schema import APPLICATION_ID, MIGRATIONS, migrate
from ostler.views.next_step import Situation, advise

CASES = list(itertools.product(TaskStatus, (None, *Code)))
WITHOUT_NEEDS = 14  # version of the tables before the inbox
ASKS = {
    "review": {"approve"},
    "question": {"reply", "resume"},
    "failed": {"retry", "resume"},
    "paused": {"resume"},
}


@pytest.mark.parametrize(
    ("status", "code", "need"),
    [
        ("needs_review", None, "review"),
        ("blocked", Code.GATE_REJECTED, "review"),
        ("blocked", Code.NEEDS_INPUT, "question"),
        ("blocked", Code.MERGE_CONFLICT, "question"),
        ("blocked", Code.DEPENDENCY_FAILED, "failed"),
        ("paused", None, "paused"),
        ("paused", Code.ITERATION_LIMIT, "question"),
        ("paused", Code.BUDGET_EXCEEDED, "failed"),
        ("failed", Code.AGENT_FAILED, "failed"),
        ("quarantined", Code.AGENT_FAILED, "failed"),
        ("cancelled", Code.ABORTED, None),
        ("deferred", Code.QUOTA_EXCEEDED, None),
        ("completed", None, None),
    ],
)
def test_what_a_task_needs(status: str, code: Code | None, need: str | None) -> None:
    """A pause of the person needs nothing; a failed task needs a repair."""
    assert find_need(TaskStatus(status), code) == need


def test_a_need_and_the_offered_button_agree() -> None:
    """For every status and code, the section of the inbox has the button that fits."""
    for status, code in CASES:
        need = find_need(status, code)
        asks = advise(Situation(id="a", status=status, code=code)).asks
        assert need is None or asks in ASKS[need], (status, code, need, asks)


def test_urgent_needs_are_all_but_own_pauses() -> None:
    """What a person paused is not counted as waiting for that person."""
    assert [*URGENT, "paused"] == [*NEEDS]


def test_an_upgrade_finds_the_same_needs(tmp_path: Path) -> None:
    """Rows that an older version wrote get what the present version writes; archived ones need nothing."""
    db = apsw.Connection(str(tmp_path / "old.db"))
    db.pragma("application_id", APPLICATION_ID)
    for step in MIGRATIONS[:WITHOUT_NEEDS]:
        db.execute(step).fetchall() if isinstance(step, str) else step(db)
    db.pragma("user_version", WITHOUT_NEEDS)
    insert = """INSERT INTO task
            (id, seq, status, title, priority, created_at, updated_at, state, open, archived_at)
        VALUES (?, 1, ?, 'A', 'P2', 1, 7, ?, 1, ?)"""
    for number, (status, code) in enumerate(CASES):
        state = msgspec.json.encode({"code": code} if code else {})
        db.execute(insert, (str(number), status, state, None))
        db.execute(insert, (f"{number} archived", status, state, 5.0))
    migrate(db)
    found = dict(db.execute("SELECT id, need FROM task").fetchall())
    for number, (status, code) in enumerate(CASES):
        assert found[str(number)] == (find_need(status, code) or ""), (status, code)
        assert found[f"{number} archived"] == ""
    assert db.execute("SELECT DISTINCT status_since FROM task").fetchall() == [(7,)]
    db.close()
