"""Writes the decisions of a call to the logger of a program that embeds it."""

from __future__ import annotations

import signal
from logging import Logger

from ostler.calls.models.availability import Unavailable
from ostler.errors import Code
from ostler.model.attempt import Attempt
from ostler.model.call import CallResult
from ostler.model.policy.model_config import ModelConfig

_STOPPED = frozenset({Code.TIMEOUT, Code.IDLE_TIMEOUT})
_SIGNALS = {
    signal.SIGTERM: "; it was stopped with SIGTERM",
    signal.SIGKILL: "; it was sent SIGTERM, then SIGKILL",
}
_SHELL_OFFSET = 128  # a sandbox returns 128 and the number of the signal, as a shell does


class DecisionLog:
    """One line for each choice of a model, failure, wait, switch and stop; without a logger, none."""

    def __init__(self, logger: Logger | None) -> None:
        self._logger = logger

    def select(self, task: str, model: ModelConfig) -> None:
        described = ", ".join(filter(None, (model.executor, model.model)))
        pool = " of the fallback models" if model.fallback else ""
        self._info("%s: selected model %s (%s)%s", task, model.name, described, pool)

    def skip(self, task: str, model: ModelConfig, unavailable: Unavailable) -> None:
        self._info("%s: skipped model %s: %s", task, model.name, unavailable)

    def end_attempt(self, attempt: Attempt, model: ModelConfig, result: CallResult) -> None:
        """Log a failed attempt; for one that was stopped, with the signals that it got."""
        if result.ok or self._logger is None:
            return
        stopped = _describe_signal(result.exit_code or 0) if result.code in _STOPPED else ""
        failure = f"{result.code}: {result.message}{stopped}"
        line = "%s: attempt %d on %s failed: %s"
        self._logger.warning(line, attempt.task, attempt.number, model.name, failure)

    def switch(self, task: str, before: str, model: ModelConfig, failure: CallResult) -> None:
        self._info("%s: switched from %s to %s after %s", task, before, model.name, failure.code)

    def wait(self, task: str, reason: str, seconds: float | None = None) -> None:
        if seconds is None:
            self._info("%s: waiting for %s", task, reason)
        else:
            self._info("%s: waiting %.1f s: %s", task, max(0.0, seconds), reason)

    def cancel(self, task: str) -> None:
        self._info("%s: cancelled; its agent was stopped", task)

    def _info(self, line: str, *values: object) -> None:
        if self._logger is not None:
            self._logger.info(line, *values)


def _describe_signal(status: int) -> str:
    number = -status if status < 0 else status - _SHELL_OFFSET
    return next((text for one, text in _SIGNALS.items() if one == number), "")


def describe_end(result: CallResult) -> str:
    """Return how a call ended, in one line."""
    return "succeeded" if result.ok else f"failed: {result.code}: {result.message}"
