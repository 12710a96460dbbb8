"""The controls of gates and their acceptance by people; for one thread."""

from __future__ import annotations

from typing import Any, Literal, Self, get_args

from msgspec import Struct

from ostler.store.database import Database
from ostler.store.repeat import repeated

ControlClass = Literal[
    "tests the code",  # it fails for a syntax error and for a failing test
    "fails when broken",  # it fails for a plant; the other one was not possible
    "static only",  # it fails for a syntax error, but passes with a failing test
    "narrow",  # it fails only when all files are empty
    "wrong code",  # it fails for a failing test, but passes with a syntax error in every source file
    "inert",  # it always passes
]
CONTROL_CLASSES: tuple[ControlClass, ...] = get_args(ControlClass)
CANNOT_FAIL: tuple[ControlClass, ...] = ("wrong code", "inert")
"""Classes of gates whose verdict is not used until a person accepts the gate."""


class Acceptance(Struct, frozen=True):
    """A person accepted a gate with this command."""

    gate: str
    command: str
    by: str
    at: float


class GateControl(Struct, frozen=True):
    """The result of a control."""

    key: str
    gate: str  # phase
    command: str
    isolation: str
    result: ControlClass | None  # None: not run
    detail: str = ""  # what was seen, or why it was not run
    commit: str = ""
    checked_at: float = 0.0

    @property
    def cannot_fail(self) -> bool:
        return self.result in CANNOT_FAIL

    def describe(self, acceptance: Acceptance | None = None) -> str:
        """Return the result in a few words, as the record of a gate has it."""
        if self.result is None:
            return f"not run ({self.detail})"
        accepted = f", accepted by {acceptance.by}" if acceptance and self.cannot_fail else ""
        return self.result + accepted


_SELECT_CONTROLS = """
    SELECT key, gate, command, isolation, result, detail, commit_id, checked_at
    FROM gate_control ORDER BY checked_at, key"""
_REPLACE_CONTROL = """
    INSERT INTO gate_control (key, gate, command, isolation, result, detail, commit_id, checked_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (key) DO UPDATE SET gate = excluded.gate, command = excluded.command,
        isolation = excluded.isolation, result = excluded.result, detail = excluded.detail,
        commit_id = excluded.commit_id, checked_at = excluded.checked_at"""
_SELECT_ACCEPTANCES = (
    "SELECT gate, command, accepted_by, accepted_at FROM gate_acceptance ORDER BY accepted_at"
)
# Two statements, as a command can be too long for an index.
_DELETE_ACCEPTANCE = "DELETE FROM gate_acceptance WHERE gate = $1 AND command = $2"
_INSERT_ACCEPTANCE = (
    "INSERT INTO gate_acceptance (gate, command, accepted_by, accepted_at) VALUES ($1, $2, $3, $4)"
)


class GateControls:
    """All processes of a project can open it at the same time. A write that returned is durable."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._db.close()

    def controls(self) -> list[GateControl]:
        """Return all controls, the oldest first; there are few, one per gate and lockfile."""
        return [_decode_control(row) for row in self._db.query(_SELECT_CONTROLS)]

    @repeated
    def record(self, control: GateControl) -> None:
        values = (control.key, control.gate, control.command, control.isolation)
        more = (control.result or "", control.detail, control.commit, control.checked_at)
        with self._db.transaction():
            self._db.run(_REPLACE_CONTROL, *values, *more)

    @repeated
    def accept(self, acceptance: Acceptance) -> None:
        with self._db.transaction():
            self._db.run(_DELETE_ACCEPTANCE, acceptance.gate, acceptance.command)
            values = (acceptance.gate, acceptance.command, acceptance.by, acceptance.at)
            self._db.run(_INSERT_ACCEPTANCE, *values)

    def acceptances(self) -> list[Acceptance]:
        """Return all acceptances, the oldest first."""
        return [Acceptance(*row) for row in self._db.query(_SELECT_ACCEPTANCES)]

    def find_acceptance(self, gate: str, command: str) -> Acceptance | None:
        """Return who accepted this command of the gate; None if nobody did."""
        return next((one for one in self.acceptances() if (one.gate, one.command) == (gate, command)), None)


def _decode_control(row: tuple[Any, ...]) -> GateControl:
    key, gate, command, isolation, result, detail, commit, checked_at = row
    known: ControlClass | None = next((one for one in CONTROL_CLASSES if one == result), None)
    return GateControl(key, gate, command, isolation, known, detail, commit, checked_at)
