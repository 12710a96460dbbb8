"""Why a gate could not run, for the advice that `ostler show` prints."""

from __future__ import annotations

from ostler.errors import Code, OstlerError
from ostler.executors.failures import classify_failure
from ostler.model.state import GateObstacle

_CAUSES: dict[Code, GateObstacle] = {Code.SANDBOX_UNAVAILABLE: "isolation", Code.NETWORK: "network"}


def find_cause(error: OstlerError) -> GateObstacle:
    """Return why the checkout of a gate could not be prepared."""
    if error.code in _CAUSES:
        return _CAUSES[error.code]
    return "network" if classify_failure(error.message) is Code.NETWORK else "setup"
