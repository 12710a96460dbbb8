"""The positive control of a gate: whether it fails when the work is broken."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

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
