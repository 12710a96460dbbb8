"""What plugins, and whoever looks on, hear of a call."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from msgspec.structs import replace

from ostler.clock import Clock
from ostler.errors import Code
from ostler.model.attempt import Attempt
from ostler.model.call import AgentEvent, CallResult
from ostler.model.choice import Choice
from ostler.model.notice import BudgetWarned, ModelWoke, WaitEnded, WaitStarted, WorkAdjusted
from ostler.worker.attempts import Attempts
from ostler.worker.budget import Warn
from ostler.worker.course import Course
from ostler.worker.healing import Adjustment
from ostler.worker.hooks import (
    Context,
    PluginRegistry,
    Step,
    StepId,
    TaskRetry,
    hook_of_event,
    hooks_of_result,
)

_MOMENT_SECONDS = 1.0  # of the person who waits, whatever the clock of the run says


class Narrator:
    """Tells; never decides."""

    def __init__(self, plugins: PluginRegistry, attempts: Attempts, clock: Clock) -> None:
        self._plugins = plugins
        self._attempts = attempts
        self._clock = clock

    def step(
        self,
        course: Course,
        step: StepId,
        choice: Choice | None = None,
        seconds: float | None = None,
        code: Code | None = None,
    ) -> None:
        """A step begins; with `seconds` it has ended."""
        order = course.order
        context = Context(order.phase, order.iteration, course.calls + 1, code=code)
        if choice is not None:
            context = replace(context, executor=choice.executor, model=choice.name, model_id=choice.model)
        phase = "start" if seconds is None else "end"
        self._plugins.tell(Step(step, order.task, phase, seconds, context))

    def retry(self, course: Course, failure: CallResult, choice: Choice, seconds: float = 0.0) -> None:
        """Of each failure plugins hear once: before a wait, or when another model takes over."""
        task, model = course.order.task, choice.name
        self._plugins.tell(TaskRetry(task, course.calls, failure.code, failure.message, seconds, model))

    def heard(self, course: Course, choice: Choice, event: AgentEvent) -> None:
        if hook := hook_of_event(event, course.order.task, choice.name):
            self._plugins.tell(hook)

    def ended(self, attempt: Attempt, choice: Choice, result: CallResult) -> None:
        for hook in hooks_of_result(result, attempt.task, attempt.executor, choice.name):
            self._plugins.tell(hook)

    def woke(self, course: Course, choice: Choice, how: str) -> None:
        """A model that nobody could call is back."""
        self._attempts.note(course.order.task, ModelWoke(choice.name, f"{choice.name} {how}"))

    def adjusted(self, course: Course, adjusted: Adjustment) -> None:
        self._attempts.note(course.order.task, WorkAdjusted(adjusted.kind, adjusted.message))

    def warned(self, course: Course, warning: Warn) -> None:
        notice = BudgetWarned(warning.which, warning.percent, warning.message)
        self._attempts.note(course.order.task, notice)

    @contextmanager
    def queueing(self, course: Course, place: str) -> Generator[None]:
        """Say at both ends of a wait for a place what is waited for, should it last longer than a moment."""
        task, told = course.order.task, list[WaitStarted]()

        def tell() -> None:
            told.append(WaitStarted(None, f"a place in pool {place}, and room on the machine"))
            self._attempts.note(task, told[0])

        alarm = asyncio.get_running_loop().call_later(_MOMENT_SECONDS, tell)
        try:
            yield
        finally:
            alarm.cancel()
            if told:
                self._attempts.note(task, WaitEnded(told[0].reason))

    async def wait(self, course: Course, until: float, reason: str) -> None:
        """Wait, and say so at both ends."""
        task = course.order.task
        self._attempts.note(task, WaitStarted(until, reason))
        await self._clock.sleep(until - self._clock.now())
        self._attempts.note(task, WaitEnded(reason))
