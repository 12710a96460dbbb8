"""Carries one call to success or a reasoned give-up: models are walked, limits minded, repeats bounded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from functools import partial

from msgspec.structs import replace

from ostler.clock import Clock
from ostler.config.settings import Settings
from ostler.errors import Code, OstlerError
from ostler.executors.protocol import Executor
from ostler.model.call import AgentEvent, CallResult
from ostler.model.choice import Choice, ModelPool
from ostler.model.limit import Open, Probe
from ostler.worker.attempts import Attempts, Start
from ostler.worker.budget import Go, Stop, Warn
from ostler.worker.course import Course
from ostler.worker.first_word import FirstWord
from ostler.worker.narrator import Narrator
from ostler.worker.order import Order, Report
from ostler.worker.prompting import Prompts
from ostler.worker.refusal import Refusal
from ostler.worker.retry import GiveUp, Rules, SwitchModel, SwitchPool, Wait, decide, named
from ostler.worker.selector import DISABLED, NOT_TRIED, Walk
from ostler.worker.slots import Slot
from ostler.worker.stable import Stable

MakeExecutor = Callable[[Choice], Executor]
"""The executor of a model, with that model's own arguments and variables."""

_NO_ROOM = (Code.SLOT_TIMEOUT, Code.SPAWN_FAILED)


class CallWorker:
    """Carries calls; any number of them at once, as everything that changes is in the call's own course."""

    def __init__(
        self, settings: Settings, make: MakeExecutor, attempts: Attempts, stable: Stable, clock: Clock
    ) -> None:
        self._settings = settings
        self._make = make
        self._attempts = attempts
        self._stable = stable
        self._clock = clock
        self._prompts = Prompts(stable.plugins, clock)
        self._narrator = Narrator(stable.plugins, attempts, clock)

    async def carry(self, order: Order) -> Report:
        """Attempt after attempt; cancelling it stops the agent, records that, and goes on raising."""
        bound = len(order.pool.choices) * (1 + self._settings.retry.max_retries)
        how = await self._attempts.clear_leftovers(order)
        course = Course(order, how, bound, self._stable.debugger)
        began = self._clock.monotonic()
        self._narrator.step(course, "cli_execution_start")
        code: Code | None = Code.INTERRUPTED
        try:
            report = await self._until_done(course)
            code = report.result.code
            return report
        except OstlerError as error:
            code = error.code
            if code not in _NO_ROOM:
                raise
            return course.stopped(code, f"{error.message} Next: {error.hint}")
        finally:
            seconds = self._clock.monotonic() - began
            self._narrator.step(course, "cli_execution_end", seconds=seconds, code=code)

    async def _until_done(self, course: Course) -> Report:
        """Walk the pool; once more over models that a limit of others keeps closed for a short while."""
        pool = course.order.pool
        while True:
            report = await self._walk(course, pool)
            if report is not None:
                return report
            patience = self._settings.retry.max_delay_seconds - course.waited_seconds
            pool = course.back_before(self._clock.now() + patience)
            if not pool.choices:
                return course.exhausted()
            until = course.first_back(pool)
            course.waited_seconds += max(0.0, until - self._clock.now())
            await self._narrator.wait(course, until, f"{pool.choices[0].name} is at its limit")

    async def _walk(self, course: Course, pool: ModelPool) -> Report | None:
        walk = self._stable.selector.walk(pool, self._settings.selection.force_fallback)
        while (choice := self._next(course, walk, pool)) is not None:
            match await self._with_model(course, choice):
                case Report() as report:
                    return report
                case SwitchPool():
                    walk.to_fallback()
                case SwitchModel():
                    pass
        self._note_passed_over(course, walk)
        return None

    def _next(self, course: Course, walk: Walk, pool: ModelPool) -> Choice | None:
        """The model that holds the session goes first; then those of the walk."""
        for choice in pool.choices:
            if choice.name == course.preferred:
                course.preferred = ""
                reason = self._against(course, choice)
                walk.note(choice, reason or "tried")
                if not reason:
                    return choice
        return walk.next(partial(self._against, course))

    def _against(self, course: Course, choice: Choice) -> str:
        """Why a model cannot be used at all now; empty: it can be asked for."""
        alone = len(course.order.pool.choices) == 1
        refusal = self._stable.standing.against(choice, partial(self._make, choice), alone)
        if refusal is None:
            return ""
        course.refusals[choice.name] = refusal
        return str(refusal)

    def _note_passed_over(self, course: Course, walk: Walk) -> None:
        for name, reason in walk.refused.items():
            if name not in course.refusals and reason != NOT_TRIED:
                course.refusals[name] = _passed_over(reason)

    async def _with_model(self, course: Course, choice: Choice) -> Report | SwitchModel | SwitchPool:
        """One model, with its repeats."""
        history = course.history(choice)
        self._narrator.step(course, "model_selected", choice)
        while True:
            tried = await self._try(course, choice)
            if isinstance(tried, Refusal):
                course.refusals[choice.name] = tried
                return SwitchModel()
            if tried.result.ok:
                rested = self._stable.standing.succeeded(choice)
                if rested and len(course.order.pool.choices) > 1:
                    self._narrator.woke(course, choice, "works again after its rest")
                return tried
            if tried.result.code is Code.BUDGET_EXCEEDED:
                return tried
            failure = named(tried.result, history)
            refusal = self._stable.standing.failed(choice, failure)
            self._heal(course, failure)
            move = self._decide(course, failure, history)
            history.append(failure)
            course.how = failure.message
            match move:
                case Wait(until=until):
                    self._narrator.retry(course, failure, choice, until - self._clock.now())
                    await self._narrator.wait(course, until, f"{choice.name}: {failure.code}")
                    continue
                case GiveUp():
                    return replace(tried, result=failure)
                case SwitchModel(off=True):
                    refusal = self._stable.standing.switch_off(choice, failure)
                case SwitchModel() | SwitchPool():
                    pass
            course.refusals[choice.name] = refusal
            return move

    def _decide(
        self, course: Course, failure: CallResult, history: list[CallResult]
    ) -> Wait | SwitchModel | SwitchPool | GiveUp:
        healer = self._stable.healer
        retry = healer.retry if healer else self._settings.retry
        rules = Rules(retry, course.order.key, self._clock.now())
        move = decide(failure, len(history), history, rules)
        if isinstance(move, Wait) and not self._stable.standing.may_repeat():
            return SwitchModel()  # the hour's repeats are used up
        return move

    def _heal(self, course: Course, failure: CallResult) -> None:
        healer = self._stable.healer
        if healer and (adjusted := healer.learn(failure.code, self._clock.now())):
            self._narrator.adjusted(course, adjusted)

    async def _try(self, course: Course, choice: Choice) -> Report | Refusal:
        """One attempt, once there is a place, room and leave for it."""
        order, stable = course.order, self._stable
        patience = choice.timeout_seconds or self._settings.run.timeout_seconds
        pool = stable.slots.pool_name(order.feature, order.priority)
        async with AsyncExitStack() as held:
            with self._narrator.queueing(course, pool):
                slot = await held.enter_async_context(stable.slots.slot(pool, patience, order.task))
                admission = await held.enter_async_context(stable.host.admit(choice.executor, patience))
            if (stop := self._stopped_by_budget(course)) is not None:
                return stop
            admitted = stable.standing.admit(choice, order.task)
            if isinstance(admitted, Refusal):
                return admitted
            report = await self._attempt(course, choice, slot, admitted)
            admission.measured(report.result.peak_memory_mb)
            return report

    def _stopped_by_budget(self, course: Course) -> Report | None:
        order, purse = course.order, self._stable.purse
        match purse.check(order.task, order.priority, order.budget_usd):
            case Stop() as stop:
                report = course.stopped(Code.BUDGET_EXCEEDED, stop.message)
                return replace(report, resumes_at=purse.refilled_at(stop))
            case Warn() as warning:
                self._narrator.warned(course, warning)
                return None
            case Go():
                return None

    async def _attempt(self, course: Course, choice: Choice, slot: Slot, admitted: Open | Probe) -> Report:
        executor = self._make(choice)
        resumes = executor.capabilities.resumes
        session = course.session(choice, resumes)
        form = course.order.form_for(executor.capabilities)
        prompt, fresh = await self._prompts.write(course, choice, session.begun, form)
        word = FirstWord(admitted, partial(self._spoken, course, choice))
        stretch = self._stable.healer.stretch if self._stable.healer else 1.0
        if course.tried not in ("", choice.name):
            self._narrator.retry(course, course.failure, choice)

        def hear(event: AgentEvent) -> None:
            word.hear(event)
            self._narrator.heard(course, choice, event)

        began = self._clock.monotonic()
        self._narrator.step(course, "cli_spawn_start", choice)
        report, attempt = await self._attempts.make(
            Start(course.order, choice, executor, session, prompt, fresh, slot, hear, stretch)
        )
        self._narrator.step(
            course, "cli_spawn_end", choice, self._clock.monotonic() - began, report.result.code
        )
        self._narrator.ended(attempt, choice, report.result)
        if report.result.ok:
            word.say()
        course.ended(report, attempt, resumes)
        return report

    def _spoken(self, course: Course, choice: Choice, probe: Probe) -> None:
        if self._stable.standing.answered(probe):
            self._narrator.woke(course, choice, "answers again after its limit")


def _passed_over(reason: str) -> Refusal:
    if reason == DISABLED:
        return Refusal("disabled", Code.MODELS_EXHAUSTED, "")
    return Refusal("passed over", Code.QUOTA_EXCEEDED, reason)
