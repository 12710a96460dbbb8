"""The controls of gates and their acceptance, in each database."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.store.gate_controls import Acceptance, GateControl
from ostler.store.store import Store

ACCEPTED = Acceptance("verify", "make test", "ada", 1.0)
CONTROL = GateControl("key-1", "verify", "make test", "overlay", "inert", "it passed", "abc", 5.0)


def test_the_last_control_of_a_key_counts(store: Store) -> None:
    """Controls are listed by their time; a result that is not known, as of a newer version, is not used."""
    newer, other = (
        replace(CONTROL, result=None, checked_at=9.0),
        replace(CONTROL, key="key-2", checked_at=7.0),
    )
    with store.open_gate_controls() as first, store.open_gate_controls() as second:
        for one in (CONTROL, other, newer):
            first.record(one)
        assert second.controls() == [other, newer]
        with second._db.transaction():
            second._db.run("UPDATE gate_control SET result = $1 WHERE key = $2", "perfect", "key-2")
        assert [one.result for one in first.controls()] == [None, None]


def test_an_acceptance_is_for_a_command(store: Store) -> None:
    """A person accepts one command of one gate; the last one who did is named."""
    with store.open_gate_controls() as controls:
        controls.accept(Acceptance("verify", "make test", "ada", 1.0))
        controls.accept(Acceptance("verify", "make test", "bob", 2.0))
        controls.accept(Acceptance("lint", "make test", "ada", 3.0))
        assert [one.by for one in controls.acceptances()] == ["bob", "ada"]
        assert controls.find_acceptance("verify", "make test") == Acceptance(
            "verify", "make test", "bob", 2.0
        )
        assert controls.find_acceptance("verify", "make tests") is None


def test_what_is_shown_of_a_control() -> None:
    """Its class, and who accepted it although it cannot fail."""
    assert CONTROL.describe(ACCEPTED) == "inert, accepted by ada"
    assert replace(CONTROL, result="tests the code").describe(ACCEPTED) == "tests the code"
    assert replace(CONTROL, result=None, detail="no tests").describe() == "not run (no tests)"
