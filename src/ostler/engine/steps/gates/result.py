"""The result of a gate, before it becomes an event."""

from __future__ import annotations

from msgspec import Struct

from ostler.engine.core.step import CheckGate
from ostler.engine.steps.services import TaskContext
from ostler.errors import Code, OstlerError
from ostler.executors.failures import classify_failure
from ostler.model.state import GateCheck, GateObstacle, GateVerdict
from ostler.model.warning import WarningDetail

_CAUSES: dict[Code, GateObstacle] = {Code.SANDBOX_UNAVAILABLE: "isolation", Code.NETWORK: "network"}


class GateResult(Struct, frozen=True):
    verdict: GateVerdict
    reason: str = ""
    output: str = ""  # path of the gate's output, relative to the task's directory
    retry_text: str = ""  # for the prompt of the retry
    signature: str = ""  # of a failure
    check: GateCheck | None = None
    warnings: tuple[str, ...] = ()
    warning_details: tuple[WarningDetail, ...] = ()
    review: str = ""  # why a person has to decide in spite of the verdict
    cause: GateObstacle | None = None  # why it could not run
    checks: tuple[str, ...] = ()  # quality checks that the verdict includes


def gate_log_path(step: CheckGate, context: TaskContext) -> str:
    """Return the path of the gate's output, relative to the task's directory; the same if repeated."""
    return f"gates/{step.phase}-{context.state.checks + 1}.log"


def find_cause(error: OstlerError) -> GateObstacle:
    """Return why the checkout of a gate could not be prepared."""
    if error.code in _CAUSES:
        return _CAUSES[error.code]
    return "network" if classify_failure(error.message) is Code.NETWORK else "setup"
