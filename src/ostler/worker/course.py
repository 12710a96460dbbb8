"""The course of one call: what was tried, and what stands against each model."""

from __future__ import annotations

from msgspec.structs import replace

from ostler.errors import Code
from ostler.model.attempt import Attempt
from ostler.model.call import CallResult
from ostler.model.choice import Choice, ModelPool
from ostler.worker.debugger import Debugger, Steering
from ostler.worker.order import Order, Report
from ostler.worker.refusal import Refusal, exhaustion
from ostler.worker.session import Session


class Course:
    """Everything that changes while a call goes on."""

    def __init__(self, order: Order, how: str, bound: int, debugger: Debugger | None) -> None:
        self.order = order
        self.how = how  # how the attempt before ended, for the next prompt
        self.bound = bound  # calls that this one can come to at most
        self.preferred = order.preferred
        self.calls = 0
        self.tried = ""  # the model of the last attempt
        self.waited_seconds = 0.0  # for limits that others ran into
        self.refusals: dict[str, Refusal] = {}
        self.steering = Steering(debugger)
        self._failures: dict[str, list[CallResult]] = {}
        self._sessions: dict[str, Session] = {}
        self._last = Report(CallResult(Code.MODELS_EXHAUSTED))

    def session(self, choice: Choice, resumes: bool) -> Session:
        """Where the executor goes on; an agent cannot continue another one's session."""
        known = self._sessions.get(choice.executor)
        return known or self.order.session_for(choice.executor, resumes, self.order.attempts)

    def history(self, choice: Choice) -> list[CallResult]:
        """The failures of one model in this call; a second walk over the pool grants it no more repeats."""
        return self._failures.setdefault(choice.name, [])

    def was_with_another(self, choice: Choice) -> bool:
        """Whether another agent has worked on this phase, so that this one must be told of it."""
        order = self.order
        return any(one.phase == order.phase and one.executor != choice.executor for one in order.attempts)

    def ended(self, report: Report, attempt: Attempt, resumes: bool) -> None:
        """Add one attempt."""
        result = report.result
        self.calls += 1
        self.tried = attempt.choice
        self.order = replace(self.order, attempts=[*self.order.attempts, attempt])
        begun = resumes and bool(result.session_id)
        self._sessions[attempt.executor] = Session(attempt.session_id, begun=begun)
        self._last = report

    @property
    def next_number(self) -> int:
        """Of the attempt that comes next, among all of the task."""
        return max((one.number for one in self.order.attempts), default=0) + 1

    @property
    def failure(self) -> CallResult:
        """How the last attempt ended."""
        return self._last.result

    def stopped(self, code: Code, message: str) -> Report:
        """The call ends for a reason that no attempt gave."""
        return replace(self._last, result=replace(self._last.result, code=code, message=message))

    def exhausted(self) -> Report:
        """Every model was tried or skipped: one reason that names them all."""
        end = exhaustion(self.order.pool, self.refusals, self.calls, self.bound)
        return replace(self.stopped(end.code, end.message), resumes_at=end.resumes_at)

    def back_before(self, until: float) -> ModelPool:
        """Models that nobody called because of a limit which ends before that time."""
        soon = (one for one in self.order.pool.choices if _is_back(self.refusals.get(one.name), until))
        return ModelPool(tuple(soon))

    def first_back(self, pool: ModelPool) -> float:
        """When the first of these comes back."""
        return min(self.refusals[one.name].until or 0.0 for one in pool.choices)


def _is_back(refusal: Refusal | None, until: float) -> bool:
    if refusal is None or refusal.kind != "limited" or refusal.called:
        return False
    return refusal.until is not None and refusal.until <= until
