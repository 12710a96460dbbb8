"""The lines that an embedding program gets about a call."""

from __future__ import annotations

import logging

import pytest

from ostler.calls.decision_log import DecisionLog
from ostler.errors import Code
from ostler.model.attempt import Attempt
from ostler.model.call import CallResult
from ostler.model.ids import TaskId
from ostler.model.policy.model_config import ModelConfig

ATTEMPT = Attempt(TaskId("t-1"), "step", "run", "call", 1, "claude", 0.0, number=1)
TERM, KILL = "; it was stopped with SIGTERM", "; it was sent SIGTERM, then SIGKILL"


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        (Code.TIMEOUT, -15, TERM),
        (Code.TIMEOUT, 143, TERM),  # in a sandbox
        (Code.IDLE_TIMEOUT, -9, KILL),
        (Code.IDLE_TIMEOUT, 137, KILL),
        (Code.TIMEOUT, 0, ""),
        (Code.AGENT_FAILED, 143, ""),
    ],
)
def test_a_stopped_attempt_names_its_signals(
    code: Code, status: int, expected: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Those that the agent got, with and without a sandbox."""
    result = CallResult(code, "too slow", exit_code=status)
    with caplog.at_level(logging.WARNING):
        DecisionLog(logging.getLogger("calls")).end_attempt(ATTEMPT, ModelConfig("one", "claude"), result)
    assert caplog.messages == [f"t-1: attempt 1 on one failed: {code}: too slow{expected}"]
