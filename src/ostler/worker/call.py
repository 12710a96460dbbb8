"""Carries one call: attempts, short waits and repeats, until it succeeds or there is a reason to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ostler.clock import Clock
from ostler.config.settings import Settings
from ostler.errors import Code, OstlerError, UsageError
from ostler.executors.environment import declared_environment
from ostler.executors.protocol import Executor
from ostler.files.failpoint import reach
from ostler.files.layout import Layout
from ostler.model.attempt import Attempt
from ostler.model.call import AgentCall, AgentEvent, CallResult, SessionStarted
from ostler.model.ids import TaskId
from ostler.model.usage import Usage, add_cost
from ostler.process.environment import child_environment
from ostler.process.sweep import sweep
from ostler.store.writer import GroupWriter
from ostler.worker.heard import notices_of
from ostler.worker.retry import Again, Defer, decide
from ostler.worker.session import Session, session_cost, session_usage
from ostler.worker.transcript import Papers

PromptFor = Callable[[bool, str], str]
"""The prompt, given whether the session knows the task and how the attempt before ended."""


class Order(Struct, frozen=True):
    """One call as the engine orders it."""

    task: TaskId
    key: str
    phase: str
    iteration: int
    role: str
    model: str
    cwd: str
    session: Session
    attempts: list[Attempt]  # all earlier attempts of the task
    prompt_for: PromptFor


class Report(Struct, frozen=True):
    """How a call ended, its attempts summed up."""

    result: CallResult
    usage: Usage
    cost_usd: float | None
    attempt: int  # number of the last one
    answer: str  # path of the final text, below the task's directory
    prompt: str
    defer_seconds: float | None = None  # a limit stands in the way for this long


class CallWorker:
    """Runs the attempts of one call with one executor."""

    def __init__(
        self,
        settings: Settings,
        layout: Layout,
        writer: GroupWriter,
        clock: Clock,
        environ: Mapping[str, str],
        run: str,
    ) -> None:
        self._settings = settings
        self._layout = layout
        self._writer = writer
        self._clock = clock
        self._environ = environ
        self._run = run

    async def carry(self, order: Order, executor: Executor) -> Report:
        """Attempt after attempt; cancelling it stops the agent, records that, and goes on raising."""
        how = await self._clear_leftovers(order)
        session, usage, cost = order.session, Usage(), None
        repeats = 0
        while True:
            report, ended = await self._attempt(order, executor, session, how)
            order = replace(order, attempts=[*order.attempts, ended])
            result = report.result
            usage, cost = usage + result.usage, add_cost(cost, result.cost_usd)
            report = replace(report, usage=usage, cost_usd=cost)
            if result.ok:
                return report
            match decide(result, repeats, order.key, self._settings.retry):
                case Again(wait_seconds=wait):
                    await self._clock.sleep(wait)
                case Defer(wait_seconds=wait):
                    return replace(report, defer_seconds=wait)
                case _:
                    return report
            repeats += 1
            how = result.message
            begun = executor.capabilities.resumes and bool(result.session_id)
            session = Session(result.session_id or session.id, begun=begun)

    async def _clear_leftovers(self, order: Order) -> str:
        """Stop what an attempt that never ended left on this host; how it ended, for the prompt."""
        open_ones = [a for a in order.attempts if a.status == "running"]
        if open_ones:
            markers = {self._marker(order.task, a.number) for a in open_ones}
            await asyncio.to_thread(sweep, markers.__contains__)
        broken = [a for a in order.attempts if a.step == order.key and a.status in ("running", "interrupted")]
        return "the run was stopped in the middle of it" if broken else ""

    def _marker(self, task: TaskId, number: int) -> str:
        return f"{self._writer.store_id}:{task}:{number}"

    async def _attempt(
        self, order: Order, executor: Executor, session: Session, how: str
    ) -> tuple[Report, Attempt]:
        attempt = Attempt(
            task=order.task,
            step=order.key,
            owner=self._run,
            phase=order.phase,
            iteration=order.iteration,
            executor=executor.name,
            started_at=self._clock.now(),
            model=order.model,
            session_id=session.id,
            resumed=session.begun,
        )
        reach("attempt.begin")
        attempt = replace(attempt, number=await self._writer.begin(attempt))
        reach("attempt.begun")
        prompt = order.prompt_for(session.begun, how)
        with Papers(self._layout.task(order.task), order.phase, attempt.number, prompt) as papers:
            call = self._call(order, executor, session, attempt, prompt, how, papers)
            result = await self._start(call, executor, attempt, papers)
            papers.close_with(result)
        ended = await self._end(attempt, result)
        return Report(result, result.usage, result.cost_usd, ended.number, papers.answer, prompt), ended

    def _call(
        self,
        order: Order,
        executor: Executor,
        session: Session,
        attempt: Attempt,
        prompt: str,
        how: str,
        papers: Papers,
    ) -> AgentCall:
        run = self._settings.run
        ours = {
            **declared_environment(executor.capabilities, self._environ),
            "OSTLER_ATTEMPT": self._marker(order.task, attempt.number),
            "OSTLER_TASK": order.task,
            "OSTLER_PROJECT": str(self._layout.root),
        }
        return AgentCall(
            agent=order.role,
            prompt=prompt,
            session_id=session.id,
            fresh_prompt=order.prompt_for(False, how) if session.begun else "",
            model=order.model,
            cwd=order.cwd,
            env=child_environment(self._environ, self._settings.sandbox.env_allow, ours),
            transcript=str(papers.transcript),
            timeout_seconds=run.timeout_seconds,
            idle_timeout_seconds=run.idle_timeout_seconds,
            result_grace_seconds=run.result_grace_seconds,
            grace_seconds=run.grace_seconds,
            session_cost_usd=session_cost(order.attempts, session.id),
            session_usage=session_usage(order.attempts, session.id),
        )

    async def _start(
        self, call: AgentCall, executor: Executor, attempt: Attempt, papers: Papers
    ) -> CallResult:
        session = attempt.session_id

        def heard(event: AgentEvent) -> None:
            nonlocal session
            if isinstance(event, SessionStarted):
                session = event.session_id or session
            papers.hear(event)
            if notices := notices_of(event):
                self._writer.notify(attempt.task, self._clock.now(), notices)

        begun = self._clock.monotonic()
        try:
            executor.validate_availability()
            start = executor.resume if attempt.resumed else executor.spawn
            return await start(call, heard)
        except asyncio.CancelledError:
            await self._interrupted(replace(attempt, session_id=session), self._clock.monotonic() - begun)
            raise
        except OstlerError as error:
            if error.code in (Code.DISK_FULL, Code.STORAGE_ERROR) or isinstance(error, UsageError):
                raise
            return CallResult(code=error.code, message=error.message)

    async def _end(self, attempt: Attempt, result: CallResult) -> Attempt:
        ended = replace(
            attempt,
            status="succeeded" if result.ok else "failed",
            duration_ms=round(result.duration_seconds * 1000),
            exit_code=result.exit_code,
            code=result.code,
            message=result.message,
            usage=result.usage,
            cost_usd=result.cost_usd,
            session_cost_usd=result.session_cost_usd,
            session_usage=result.session_usage,
            session_id=result.session_id or attempt.session_id,
            model=result.model or attempt.model,
        )
        reach("attempt.end")
        await self._writer.end(ended)
        return ended

    async def _interrupted(self, attempt: Attempt, seconds: float) -> None:
        ended = replace(
            attempt, status="interrupted", code=Code.INTERRUPTED, duration_ms=round(seconds * 1000)
        )
        await self._writer.end(ended)
