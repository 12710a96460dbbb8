"""The outbox: the cursors of the readers, and the messages that wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from journal_values import TASK, make_record, make_row
from ostler.files.failpoint import arm
from ostler.model.notice import AgentWarned
from ostler.store.outbox import MAX_WAIT_SECONDS, OutboxMessage
from ostler.store.store import Store
from stores import create_sqlite_store


@pytest.fixture(autouse=True)
def fill(request: pytest.FixtureRequest) -> None:
    """The store has one record and two notices."""
    if "store" in request.fixturenames:
        with request.getfixturevalue("store").open_journal() as journal:
            journal.append(make_record(1), make_row(1))
            journal.notify(TASK, 5.0, [AgentWarned("one"), AgentWarned("two")])


def letter(position: int, target: str = "hook") -> OutboxMessage:
    return OutboxMessage(position, target, b"{}", 10.0)


def test_a_new_reader_begins_at_the_end(store: Store) -> None:
    """Events before the registration are not read; registering again moves no cursor."""
    with store.open_outbox() as outbox:
        assert outbox.position("notify") is None
        outbox.register(["notify"], ["hook"])
        assert outbox.position("notify") == 3
        outbox.advance("notify", 3, 2, [])
        outbox.register(["notify", "telemetry"], ["hook"])
        assert (outbox.position("notify"), outbox.position("telemetry")) == (2, 3)


def test_two_runs_may_enrol_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A registration that is based on an old read changes nothing."""
    with store.open_outbox() as first, store.open_outbox() as second:
        monkeypatch.setattr(first._db, "query", lambda *_: [])
        second.register(["notify"], ["hook"])
        second.advance("notify", 3, 2, [letter(2)])
        first.register(["notify"], ["hook"])
        assert (second.position("notify"), len(second.messages())) == (2, 1)


def test_a_target_that_is_no_longer_configured_is_removed(store: Store) -> None:
    """A reader that is registered again skips what happened meanwhile, and its old messages are deleted."""
    with store.open_outbox() as outbox:
        outbox.register(["notify"], ["hook", "bell"])
        outbox.advance("notify", 3, 3, [letter(3), letter(3, "bell")])
        outbox.register(["notify"], ["bell"])
        assert [one.target for one in outbox.messages()] == ["bell"]
        outbox.register([], [])
        assert outbox.messages() == []
        assert outbox.position("notify") is None


def test_a_letter_is_written_once(store: Store) -> None:
    """A second message about the same event for the same target changes nothing, even after a try."""
    with store.open_outbox() as outbox:
        outbox.register(["notify"], ["hook"])
        outbox.advance("notify", 3, 3, [letter(3)])
        tried = OutboxMessage(3, "hook", b"{}", 20.0, 1, "it answered 500")
        outbox.update(tried)
        outbox.advance("notify", 3, 3, [letter(3)])
        assert outbox.messages() == [tried]
        outbox.remove(tried)
        assert outbox.messages() == []


def test_a_reader_that_was_overtaken_writes_nothing(store: Store) -> None:
    """What another process has read and delivered meanwhile is not sent again."""
    with store.open_outbox() as late, store.open_outbox() as other:
        late.register(["notify"], ["hook"])
        assert late.advance("notify", 3, 1, [])
        assert other.advance("notify", 1, 3, [letter(2), letter(3)])
        for one in other.messages():
            other.remove(one)
        assert not late.advance("notify", 1, 2, [letter(2)])
        assert (late.position("notify"), late.messages()) == (3, [])


def test_position_and_letters_are_kept_together(tmp_path: Path) -> None:
    """When the disk refuses the write, neither is changed."""
    store = create_sqlite_store(tmp_path / "ostler.db")
    with store.open_outbox() as outbox:
        outbox.register(["notify"], ["hook"])
        outbox.advance("notify", 0, 1, [])
        arm("outbox.write:enospc")
        try:
            with pytest.raises(Exception, match="no space left"):
                outbox.advance("notify", 1, 3, [letter(3)])
        finally:
            arm("")
    with store.open_outbox() as outbox:
        assert (outbox.position("notify"), outbox.messages()) == (1, [])


def test_given_up_messages_are_removed_after_the_next_delivery(store: Store) -> None:
    """Until then it is kept for doctor; waiting messages stay."""
    with store.open_outbox() as outbox:
        outbox.register(["notify"], ["hook", "bell"])
        outbox.advance("notify", 3, 3, [letter(1), letter(1, "bell"), letter(2), letter(3)])
        for target in ("hook", "bell"):
            outbox.update(OutboxMessage(1, target, b"{}", None, 6, "it answered 500"))
        outbox.remove(letter(2))
        assert [(one.position, one.target) for one in outbox.messages()] == [(1, "bell"), (3, "hook")]


@pytest.mark.parametrize(
    ("due_at", "due"),
    [(99.0, True), (100.0, True), (100.1, False), (100.0 + MAX_WAIT_SECONDS + 1, True), (None, False)],
)
def test_a_clock_that_was_wrong_puts_nothing_off_for_long(due_at: float | None, due: bool) -> None:
    """No wait is longer than an hour, so a later time is ignored."""
    assert OutboxMessage(1, "hook", b"{}", due_at).is_due(100.0) is due
