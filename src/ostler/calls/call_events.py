"""Reports the steps of a call to plugins and to the feed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager

from msgspec.structs import replace

from ostler.calls.attempts.attempt import AttemptRunner
from ostler.calls.attempts.progress import CallProgress
from ostler.calls.attempts.wait_report import UNREPORTED_SECONDS
from ostler.calls.decision_log import DecisionLog
from ostler.calls.hooks import (
    CallStep,
    StepContext,
    StepId,
    TaskRetry,
    create_event_hook,
    create_result_hooks,
)
from ostler.calls.models.availability import Unavailable
from ostler.calls.plugins import PluginRegistry
from ostler.calls.self_healing import Adjustment
from ostler.calls.spending.budget import BudgetWarning
from ostler.clock import Clock, format_local_time
from ostler.errors import Code, OstlerError, is_provider_limit
from ostler.model.attempt import Attempt
from ostler.model.call import AgentEvent, CallResult
from ostler.model.limits.limit import Probe
from ostler.model.limits.titles import label_of, window_title
from ostler.model.notice import (
    BudgetWarned,
    ConcurrencyReduced,
    ModelCooldown,
    ModelRecovered,
    ProviderUnavailable,
    RetriesUsedUp,
    SessionReplacedNotice,
    WaitEnded,
    WaitStarted,
)
from ostler.model.policy.model_config import ModelConfig


class Execution:
    """The code with which a call ends; INTERRUPTED until it is set."""

    def __init__(self) -> None:
        self.code: Code | None = Code.INTERRUPTED


class CallEvents:
    """Notifies plugins and records notices; makes no decisions."""

    def __init__(
        self, plugins: PluginRegistry, runner: AttemptRunner, clock: Clock, log: DecisionLog
    ) -> None:
        self._plugins = plugins
        self._log = log
        self._runner = runner
        self._clock = clock

    @contextmanager
    def execution(self, progress: CallProgress) -> Generator[Execution]:
        """Notify plugins of the start and of the end of a call."""
        execution = Execution()
        started = self._clock.monotonic()
        self.notify_step(progress, "cli_execution_start")
        try:
            yield execution
        except OstlerError as error:
            execution.code = error.code
            raise
        except asyncio.CancelledError:
            self._log.cancel(progress.request.task)
            raise
        finally:
            seconds = self._clock.monotonic() - started
            self.notify_step(progress, "cli_execution_end", seconds=seconds, code=execution.code)

    def notify_step(
        self,
        progress: CallProgress,
        step: StepId,
        model: ModelConfig | None = None,
        seconds: float | None = None,
        code: Code | None = None,
    ) -> None:
        """Notify plugins that a step starts, or with `seconds` that it has ended."""
        request = progress.request
        if step == "model_selected" and model is not None:
            self._log.select(request.task, model)
        context = StepContext(request.phase, request.iteration, progress.attempts_made + 1, code=code)
        if model is not None:
            context = replace(context, executor=model.executor, model=model.name, model_id=model.model)
        phase = "start" if seconds is None else "end"
        self._plugins.notify(CallStep(step, request.task, phase, seconds, context))

    def notify_retry(
        self, progress: CallProgress, failure: CallResult, model: ModelConfig, seconds: float = 0.0
    ) -> None:
        """Notify plugins of a failure once: before a wait, or when another model is tried."""
        task, attempt = progress.request.task, progress.attempts_made
        if progress.last_model != model.name:
            self._log.switch(task, progress.last_model, model, failure)
        self._plugins.notify(TaskRetry(task, attempt, failure.code, failure.message, seconds, model.name))

    def notify_agent_event(self, progress: CallProgress, model: ModelConfig, event: AgentEvent) -> None:
        if getattr(self._plugins, "is_empty", False):  # an injected plugin manager need not have it
            return
        if hook := create_event_hook(event, progress.request.task, model.name):
            self._plugins.notify(hook)

    def notify_attempt_ended(self, attempt: Attempt, model: ModelConfig, result: CallResult) -> None:
        self._log.end_attempt(attempt, model, result)
        for hook in create_result_hooks(result, attempt.task, attempt.executor, model.name):
            self._plugins.notify(hook)

    def record_model_recovered(self, progress: CallProgress, model: ModelConfig, how: str) -> None:
        self._runner.notify(progress.request.task, ModelRecovered(model.name, f"{model.name} {how}"))

    def record_model_answers(self, progress: CallProgress, model: ModelConfig, probe: Probe) -> None:
        """Record that the windows of a model's account are open again, once for all tasks."""
        account, names = label_of(model), tuple(window.window for window in probe.windows)
        titles = ", ".join(map(window_title, dict.fromkeys(names)))
        reason = f"{model.name} answers again after its limit ({account}: {titles})"
        notice = ModelRecovered(model.name, reason, account, names[0] if names else "", probe.is_reported)
        self._runner.notify(progress.request.task, notice)

    def record_provider_unavailable(
        self, progress: CallProgress, model: ModelConfig, unavailable: Unavailable
    ) -> None:
        """Record that no call is made until a time, once for all tasks of the account."""
        account, window = label_of(model), unavailable.window.window if unavailable.window else ""
        message, until = unavailable.message, unavailable.until
        if until is not None and is_provider_limit(unavailable.code):
            end = format_local_time(until, self._clock.now())
            message = f"{message}; {account}: {window_title(window)} limit, no call until {end}"
        notice = ProviderUnavailable(model.name, unavailable.code, message, until, account, window)
        self._runner.notify(progress.request.task, notice)

    def record_cooldown(self, progress: CallProgress, model: ModelConfig, code: Code, until: float) -> None:
        """Record that a model is skipped for a time because it failed too often."""
        message = f"{model.name} is skipped after failures in a row"
        self._runner.notify(progress.request.task, ModelCooldown(model.name, code, message, until))

    def record_retries_used_up(self, progress: CallProgress, message: str) -> None:
        self._runner.notify(progress.request.task, RetriesUsedUp(message))

    def record_session_replaced(self, progress: CallProgress, session_id: str) -> None:
        self._runner.notify(progress.request.task, SessionReplacedNotice(session_id, resumed=False))

    def record_adjustment(self, progress: CallProgress, adjustment: Adjustment) -> None:
        notice = ConcurrencyReduced(adjustment.kind, adjustment.message)
        self._runner.notify(progress.request.task, notice)

    def record_budget_warning(self, progress: CallProgress, warning: BudgetWarning) -> None:
        notice = BudgetWarned(warning.scope, warning.percent, warning.message)
        self._runner.notify(progress.request.task, notice)

    @contextmanager
    def report_queueing(self, progress: CallProgress, describe: Callable[[], str]) -> Generator[None]:
        """Record the start and the end of a wait for a slot or memory, if it takes longer than a second."""
        task, reported = progress.request.task, list[WaitStarted]()

        def report() -> None:
            reported.append(WaitStarted(None, describe()))
            self._runner.notify(task, reported[0])
            self._log.wait(task, reported[0].reason)

        timer = asyncio.get_running_loop().call_later(UNREPORTED_SECONDS, report)
        try:
            yield
        finally:
            timer.cancel()
            if reported:
                self._runner.notify(task, WaitEnded(reported[0].reason))

    async def wait_until(self, progress: CallProgress, until: float, reason: str) -> None:
        """Sleep, and record the start and the end of the wait."""
        task = progress.request.task
        self._runner.notify(task, WaitStarted(until, reason))
        self._log.wait(task, reason, until - self._clock.now())
        await self._clock.sleep(until - self._clock.now())
        self._runner.notify(task, WaitEnded(reason))
