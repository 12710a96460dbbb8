"""Runs one call: attempts on the models of its pool until one succeeds or none is left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from msgspec.structs import replace

from ostler.calls.attempts.attempt import AttemptRunner, AttemptSpec
from ostler.calls.attempts.progress import CallProgress
from ostler.calls.call_events import CallEvents
from ostler.calls.models.availability import Unavailable
from ostler.calls.models.first_output import FirstOutput, is_from_model
from ostler.calls.models.retry import (
    GiveUp,
    RetryContext,
    SwitchModel,
    SwitchPool,
    Wait,
    decide,
    detect_crash_loop,
)
from ostler.calls.models.selector import DISABLED, NOT_TRIED, Selection
from ostler.calls.models.slots import Slot
from ostler.calls.prompts import PromptBuilder
from ostler.calls.request import CallOutcome, CallRequest
from ostler.calls.services import CallServices
from ostler.calls.spending.budget import Allowed, BudgetDecision, BudgetExceeded, BudgetWarning
from ostler.calls.spending.running import RunningCost
from ostler.calls.tool_breaks import ToolBreaks
from ostler.clock import Clock
from ostler.config.settings import Settings
from ostler.errors import Code, OstlerError, is_host_limit
from ostler.executors.protocol import Executor
from ostler.model.call import AgentEvent, CallResult, LimitReported
from ostler.model.limits.limit import LEASE_SECONDS, Open, Probe
from ostler.model.policy.model_config import ModelConfig, ModelPool
from ostler.store.spending import SpentAmount

MakeExecutor = Callable[[ModelConfig], Executor]
"""Creates the executor of a model, with that model's own arguments and environment variables."""


class AgentCaller:
    """Runs calls, any number at a time: everything that changes is in the CallProgress of each call."""

    def __init__(
        self,
        settings: Settings,
        make_executor: MakeExecutor,
        runner: AttemptRunner,
        services: CallServices,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._make_executor = make_executor
        self._runner = runner
        self._services = services
        self._clock = clock
        self._prompts = PromptBuilder(services.plugins, clock)
        self._events = CallEvents(services.plugins, runner, clock, services.log)

    async def run(self, request: CallRequest) -> CallOutcome:
        """Run attempts until one succeeds or no model is left.

        Cancelling this stops the agent and records its attempt as interrupted.
        """
        progress = await self._start_progress(request)
        if (kept := await self._runner.find_kept_answer(request)) is not None:
            return kept
        if self._services.readiness is not None:
            await self._services.readiness.wait_for(request.pool)
        with self._events.execution(progress) as execution:
            try:
                outcome = await self._try_models(progress, request.pool)
                while outcome is None and (pool := self._find_recovering(progress)).models:
                    await self._wait_for_recovery(progress, pool)
                    outcome = await self._try_models(progress, pool)
            except OstlerError as error:
                if not is_host_limit(error.code):
                    raise
                outcome = progress.stop(error.code, f"{error.message} Next: {error.hint}")
            finally:
                self._release_probes(progress)
            outcome = outcome or progress.exhaust()
            execution.code = outcome.result.code
            return outcome

    async def _start_progress(self, request: CallRequest) -> CallProgress:
        """Stop what earlier attempts left running and return a progress without attempts of its own."""
        max_attempts = len(request.pool.enabled) * (1 + self._settings.retry.max_retries)
        interruption = await self._runner.stop_leftovers(request)
        return CallProgress(request, interruption, max_attempts, self._services.debugger)

    def _release_probes(self, progress: CallProgress) -> None:
        """Let another call probe at once what this one could not, such as after a crash of its agent."""
        for probe in filter(None, (one.unanswered for one in progress.probes)):
            self._services.availability.release_probe(probe, progress.request.task)

    def _find_recovering(self, progress: CallProgress) -> ModelPool:
        """Return the models whose limit ends within the time that this call may still wait."""
        seconds = self._settings.retry.max_delay_seconds - progress.waited_seconds
        return progress.recovering_before(self._clock.now() + seconds)

    async def _wait_for_recovery(self, progress: CallProgress, pool: ModelPool) -> None:
        until = progress.first_recovery(pool)
        progress.waited_seconds += max(0.0, until - self._clock.now())
        first = pool.models[0].name
        await self._events.wait_until(progress, until, f"{first}: {progress.unavailable[first].code}")

    async def _try_models(self, progress: CallProgress, pool: ModelPool) -> CallOutcome | None:
        """Try each available model of the pool; return None when the call is not over after the last one."""
        selection = self._services.selector.select_from(pool, self._settings.selection.force_fallback)
        while (model := self._next_model(progress, selection, pool)) is not None:
            match await self._try_model(progress, model):
                case CallOutcome() as outcome:
                    return outcome
                case SwitchPool():
                    selection.switch_to_fallback()
                case SwitchModel():
                    pass
        _record_skipped(progress, selection)
        return None

    def _next_model(
        self, progress: CallProgress, selection: Selection, pool: ModelPool
    ) -> ModelConfig | None:
        """Return the model that holds the session first, then those of the selection."""
        for model in pool.models:
            if model.name == progress.preferred:
                progress.preferred = ""
                reason = self._reason_to_skip(progress, model)
                selection.set_reason(model, reason or "tried")
                if not reason:
                    return model
        return selection.next(partial(self._reason_to_skip, progress))

    def _reason_to_skip(self, progress: CallProgress, model: ModelConfig) -> str:
        """Return why the model cannot be used now; empty if it can."""
        make_executor = partial(self._make_executor, model)
        readiness, pool = self._services.readiness, progress.request.pool
        unavailable = (
            (readiness.check(model, pool) if readiness else None)
            or self._services.availability.check(model, make_executor, not pool.has_cooldowns)
            or self._find_start_hold(progress, model)
            or self._check_rotation(progress, model)
        )
        if unavailable is None:
            return ""
        if progress.unavailable.get(model.name) != unavailable:
            self._services.log.skip(progress.request.task, model, unavailable)
        progress.unavailable[model.name] = unavailable
        return str(unavailable)

    def _check_rotation(self, progress: CallProgress, model: ModelConfig) -> Unavailable | None:
        """Return why the model is not used at the limit of another account, as for a task that waits."""
        request, availability = progress.request, self._services.availability
        if len(request.pool.enabled) == 1:
            return None
        blocked = availability.find_blocked(request.pool, request.priority, has_begun=bool(request.attempts))
        blocked |= {name: one for name, one in progress.unavailable.items() if one.called}
        return availability.check_rotation(model, request.pool, blocked, request.preferred)

    def _find_start_hold(self, progress: CallProgress, model: ModelConfig) -> Unavailable | None:
        """Return why a task that has not begun may not start on the model; others finish what they began."""
        request = progress.request
        if request.attempts:
            return None
        return self._services.availability.find_start_holds(request.pool, request.priority).get(model.name)

    async def _try_model(
        self, progress: CallProgress, model: ModelConfig
    ) -> CallOutcome | SwitchModel | SwitchPool:
        """Run attempts on one model until the call is over or another model has to be tried."""
        self._events.notify_step(progress, "model_selected", model)
        following = None
        while following is None:
            outcome = await self._run_attempt(progress, model)
            if isinstance(outcome, Unavailable):
                progress.unavailable[model.name] = outcome
                return SwitchModel()
            if outcome.result.ok:
                self._record_success(progress, model)
                return outcome
            if outcome.result.code is Code.BUDGET_EXCEEDED:
                return outcome
            following = await self._handle_failure(progress, model, outcome)
        return following

    async def _run_attempt(self, progress: CallProgress, model: ModelConfig) -> CallOutcome | Unavailable:
        """Wait for a slot and for memory, check budget and limits, then run one attempt."""
        request, services = progress.request, self._services
        timeout = model.timeout_seconds or self._settings.run.timeout_seconds
        pool = services.slots.pool_name(request.feature, request.priority)
        async with AsyncExitStack() as held:
            with self._events.report_queueing(progress, partial(services.slots.describe_wait, pool)):
                slot = await held.enter_async_context(services.slots.acquire(pool, timeout, request.task))
            with self._events.report_queueing(progress, partial(services.host.describe_wait, model.executor)):
                reservation = await held.enter_async_context(services.host.reserve(model.executor, timeout))
            if (stopped := self._check_budget(progress, model)) is not None:
                return stopped
            admission = services.availability.admit(model, request.task)
            if isinstance(admission, Unavailable):
                return admission
            outcome = await self._run_agent(progress, model, slot, admission)
            reservation.peak_mb = outcome.result.peak_memory_mb
            return outcome

    def _check_budget(self, progress: CallProgress, model: ModelConfig) -> CallOutcome | Unavailable | None:
        """Return how the call ends when the budget is used up or cannot be enforced; None: it continues."""
        request, guard, now = progress.request, self._services.budget_guard, self._settings.budget
        if reason := guard.explain_unenforceable(self._make_executor(model), request.budget_usd, now):
            return Unavailable("failed", Code.BUDGET_EXCEEDED, reason)
        match guard.check(request.task, request.priority, request.budget_usd, now):
            case BudgetExceeded() as exceeded:
                outcome = progress.stop(Code.BUDGET_EXCEEDED, exceeded.message)
                return replace(outcome, resumes_at=guard.resumes_at(exceeded, now))
            case BudgetWarning() as warning:
                self._events.record_budget_warning(progress, warning)
                return None
            case Allowed():
                return None

    def _count_cost(self, request: CallRequest) -> RunningCost:
        def check(spent: SpentAmount) -> BudgetDecision:
            guard, now = self._services.budget_guard, self._settings.budget
            return guard.check(request.task, request.priority, request.budget_usd, now, spent)

        return RunningCost(check, self._clock.now(), self._settings.prices)

    async def _run_agent(
        self, progress: CallProgress, model: ModelConfig, slot: Slot, admission: Open | Probe
    ) -> CallOutcome:
        executor = self._make_executor(model)
        can_resume = executor.capabilities.resumes
        session = progress.select_session(model, can_resume)
        answer_format = progress.request.answer_format_for(executor.capabilities)
        prompt, fresh_prompt = await self._prompts.build(progress, model, session.started, answer_format)
        first_output = FirstOutput(admission, partial(self._record_recovery, progress, model))
        progress.probes.append(first_output)
        availability, self_healing = self._services.availability, self._services.self_healing
        if progress.last_model not in ("", model.name):
            self._events.notify_retry(progress, progress.last_result, model)

        has_worked = False
        breaks = ToolBreaks(self._services.debugger, self._services.running, self._clock, progress)

        def on_event(event: AgentEvent) -> None:
            nonlocal has_worked
            has_worked = has_worked or is_from_model(event)
            first_output.check_event(event)
            if isinstance(event, LimitReported):
                availability.note_windows(model, event.windows)
            self._events.notify_agent_event(progress, model, event)
            check_tool(event)

        started = self._clock.monotonic()
        self._events.notify_step(progress, "cli_spawn_start", model)
        async with self._keep_probing(progress, model, first_output), breaks.watch(model) as check_tool:
            outcome, attempt = await self._runner.run(
                AttemptSpec(
                    request=progress.request,
                    model=model,
                    executor=executor,
                    session=session,
                    prompt=prompt,
                    fresh_prompt=fresh_prompt,
                    slot=slot,
                    on_event=on_event,
                    timeout_factor=self_healing.timeout_factor if self_healing else 1.0,
                    running=self._count_cost(progress.request),
                )
            )
        availability.note_windows(model, outcome.result.windows)
        seconds, code = self._clock.monotonic() - started, outcome.result.code
        self._events.notify_step(progress, "cli_spawn_end", model, seconds, code)
        self._events.notify_attempt_ended(attempt, model, outcome.result)
        if outcome.result.ok:
            first_output.confirm()
        progress.failed_probe = first_output.is_unanswered
        progress.add_attempt(outcome, attempt, can_resume, has_worked)
        return outcome

    @asynccontextmanager
    async def _keep_probing(
        self, progress: CallProgress, model: ModelConfig, first_output: FirstOutput
    ) -> AsyncGenerator[None]:
        """Stay the only probe for as long as the model has not answered, however slow it is."""

        async def renew() -> None:
            while first_output.is_unanswered:
                await self._clock.sleep(LEASE_SECONDS / 2)
                if first_output.is_unanswered:
                    self._services.availability.admit(model, progress.request.task)

        renewing = asyncio.create_task(renew()) if first_output.is_unanswered else None
        try:
            yield
        finally:
            if renewing is not None:
                renewing.cancel()

    def _record_success(self, progress: CallProgress, model: ModelConfig) -> None:
        ended_cooldown = self._services.availability.record_success(model)
        if ended_cooldown and progress.request.pool.has_cooldowns:
            self._events.record_model_recovered(progress, model, "works again after its cooldown")

    def _record_recovery(self, progress: CallProgress, model: ModelConfig, probe: Probe) -> None:
        if self._services.availability.reopen_windows(probe):
            self._events.record_model_answers(progress, model, probe)

    async def _handle_failure(
        self, progress: CallProgress, model: ModelConfig, outcome: CallOutcome
    ) -> CallOutcome | SwitchModel | SwitchPool | None:
        """Record a failed attempt and carry out what the retry table says; None: try the model again."""
        failures = progress.failures_of(model)
        failure = detect_crash_loop(outcome.result, failures)
        self._adjust_run(progress, failure)
        # One time for both, so that a wait does not end before the limit that it waits for.
        now = self._clock.now()
        decision, failure = self._decide(progress, failure, failures, now)
        unavailable = self._record_failure(progress, model, failure, now, isinstance(decision, Wait))
        failures.append(failure)
        progress.previous_failure = failure.message
        match decision:
            case Wait(until=until):
                self._events.notify_retry(progress, failure, model, until - self._clock.now())
                await self._events.wait_until(progress, until, f"{model.name}: {failure.code}")
                return None
            case GiveUp():
                return replace(outcome, result=failure)
            case SwitchModel(disable=True) if not unavailable.recovers:
                unavailable = self._services.availability.disable_for_run(model, failure)
            case SwitchModel() | SwitchPool():
                pass
        progress.unavailable[model.name] = unavailable
        return decision

    def _record_failure(
        self, progress: CallProgress, model: ModelConfig, failure: CallResult, now: float, is_retried: bool
    ) -> Unavailable:
        """Record the failure for all calls; report a provider that is not called any more, once."""
        availability = self._services.availability
        if failure.is_stopped:
            return Unavailable("failed", failure.code or Code.AGENT_KILLED, failure.message, called=True)
        executor = self._make_executor(model)
        unavailable = availability.record_failure(model, failure, executor, now, is_retried=is_retried)
        if not is_retried and availability.take_report(unavailable):
            self._events.record_provider_unavailable(progress, model, unavailable)
        if unavailable.cooldown_until is not None and progress.request.pool.has_cooldowns:
            self._events.record_cooldown(progress, model, unavailable.code, unavailable.cooldown_until)
        return unavailable

    def _adjust_run(self, progress: CallProgress, failure: CallResult) -> None:
        self_healing = self._services.self_healing
        if failure.is_stopped:
            return
        if self_healing and (adjustment := self_healing.record_failure(failure.code, self._clock.now())):
            self._events.record_adjustment(progress, adjustment)

    def _decide(
        self, progress: CallProgress, failure: CallResult, failures: list[CallResult], now: float
    ) -> tuple[Wait | SwitchModel | SwitchPool | GiveUp, CallResult]:
        """Return what follows the failure, and the failure with the reason if a retry is not possible."""
        if (session := progress.replace_lost_session()) is not None:
            self._events.record_session_replaced(progress, session.id)
            return Wait(now), failure
        if progress.failed_probe and self._services.availability.is_outage(failure.code):
            # One call probes for all tasks; the next probe is made after a longer delay.
            return SwitchModel(), failure
        self_healing = self._services.self_healing
        retry = self_healing.retry if self_healing else self._settings.retry
        has_others = len(progress.request.pool.enabled) > 1
        context = RetryContext(retry, progress.request.key, now, has_others)
        decision = decide(failure, len(failures), failures, context)
        # A retry counts against the retries per hour of the whole store.
        if isinstance(decision, Wait) and not self._services.availability.take_retry():
            message = self._services.availability.describe_retries_used_up()
            if self._services.availability.take_retry_report():
                self._events.record_retries_used_up(progress, message)
            return SwitchModel(), replace(failure, message=f"{failure.message}; {message}")
        return decision, failure


def _record_skipped(progress: CallProgress, selection: Selection) -> None:
    for name, reason in selection.reasons.items():
        if name not in progress.unavailable and reason != NOT_TRIED:
            progress.unavailable[name] = (
                Unavailable("disabled", Code.MODELS_EXHAUSTED, "")
                if reason == DISABLED
                else Unavailable("skipped", Code.QUOTA_EXCEEDED, reason)
            )
