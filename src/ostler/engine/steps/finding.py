"""What a gate found out, before it becomes an event."""

from __future__ import annotations

from msgspec import Struct

from ostler.engine.core.step import CheckGate
from ostler.engine.steps.tools import Case
from ostler.model.state import GateVerdict


class Finding(Struct, frozen=True):
    verdict: GateVerdict
    reason: str = ""
    output: str = ""  # path of what the gate printed, below the task's directory
    told: str = ""  # what whoever does the work again should read
    signature: str = ""  # of a failure


def log_of(step: CheckGate, case: Case) -> str:
    """Where a gate's output is kept, below the task's directory; the same when it has to be asked again."""
    return f"gates/{step.phase}-{case.state.checks + 1}.log"
