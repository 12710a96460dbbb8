"""One attempt: begun in the journal, carried out by an executor, heard, and ended in the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ostler.clock import Clock
from ostler.config.settings import Settings
from ostler.errors import Code, OstlerError, UsageError
from ostler.executors.protocol import Executor
from ostler.executors.registry import kind_of
from ostler.files.failpoint import reach
from ostler.model.attempt import Attempt, Billing
from ostler.model.call import (
    AgentCall,
    AgentEvent,
    CallResult,
    OnEvent,
    SessionReplaced,
    SessionStarted,
    UsageSeen,
)
from ostler.model.choice import Choice
from ostler.model.ids import TaskId
from ostler.model.notice import AgentQuiet, Notice
from ostler.model.usage import Usage
from ostler.process.sweep import sweep
from ostler.worker.agent_call import base_call, marks_of
from ostler.worker.billing import billing_of
from ostler.worker.diary import Diary
from ostler.worker.healing import stretched
from ostler.worker.heard import notices_of
from ostler.worker.liveness import Liveness
from ostler.worker.order import Order, Report
from ostler.worker.prices import settle
from ostler.worker.session import Session, session_cost, session_usage
from ostler.worker.slots import Slot
from ostler.worker.transcript import Papers

_HOST_TROUBLE = (Code.DISK_FULL, Code.STORAGE_ERROR)


class Start(Struct, frozen=True):
    """Everything that one attempt is made of."""

    order: Order
    choice: Choice
    executor: Executor
    session: Session
    prompt: str
    fresh_prompt: str  # for a session that turns out to be lost; empty where it is new anyway
    slot: Slot
    on_event: OnEvent  # who listens besides the journal
    stretch: float = 1.0  # of its deadlines


class Attempts:
    """Makes attempts and keeps their record."""

    def __init__(
        self, settings: Settings, environ: Mapping[str, str], diary: Diary, clock: Clock, run: str, root: str
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._diary = diary
        self._clock = clock
        self._run = run
        self._root = root

    def note(self, task: TaskId, notice: Notice) -> None:
        """Something that whoever looks on should see."""
        self._diary.notify(task, self._clock.now(), [notice])

    async def clear_leftovers(self, order: Order) -> str:
        """Stop what an attempt that never ended left on this host; how it ended, for the prompt."""
        open_ones = [a for a in order.attempts if a.status == "running"]
        if open_ones:
            markers = {self._marker(order.task, a.number) for a in open_ones}
            await asyncio.to_thread(sweep, markers.__contains__)
        broken = [a for a in order.attempts if a.step == order.key and a.status in ("running", "interrupted")]
        return "the run was stopped in the middle of it" if broken else ""

    async def make(self, start: Start) -> tuple[Report, Attempt]:
        """One attempt; cancelling it stops the agent, records that, and goes on raising."""
        attempt = await self._begin(start)
        order, can = start.order, start.executor.capabilities
        structured = order.form_for(can) is not None
        with Papers(order.papers, attempt, start.prompt, self._clock.now, order.system, structured) as papers:
            call = self._call(start, attempt, str(papers.transcript))
            attempt = replace(attempt, billing=self._billing(start, call.env))
            result = await self._start(start, call, attempt, papers)
            ended = self._ended(start, attempt, result)
            papers.close_with(result, ended.cost_usd)
        reach("attempt.end")
        await self._diary.end(ended)
        report = Report(
            result=result,
            attempt=ended.number,
            answer=papers.answer,
            prompt=papers.prompt,
            speaks=can.speaks,
            structured=structured,
        )
        return report, ended

    async def _begin(self, start: Start) -> Attempt:
        order = start.order
        attempt = Attempt(
            task=order.task,
            step=order.key,
            owner=self._run,
            phase=order.phase,
            iteration=order.iteration,
            executor=start.executor.name,
            started_at=self._clock.now(),
            model=start.choice.model,
            choice=start.choice.name,
            session_id=start.session.id,
            resumed=start.session.begun,
        )
        reach("attempt.begin")
        attempt = replace(attempt, number=await self._diary.begin(attempt))
        reach("attempt.begun")
        return attempt

    def _call(self, start: Start, attempt: Attempt, transcript: str) -> AgentCall:
        order, session = start.order, start.session
        marks = marks_of(self._marker(order.task, attempt.number), self._root, order.task, order.state_file)
        base = base_call(self._settings, start.executor.capabilities, self._environ, marks)
        form = order.form_for(start.executor.capabilities)
        idle = stretched(base.idle_timeout_seconds, start.stretch)
        return replace(
            base,
            agent=order.role,
            prompt=start.prompt,
            system=order.system,
            key=order.key,
            session_id=session.id,
            fresh_prompt=start.fresh_prompt,
            schema=form.schema if form else "",
            model=start.choice.model,
            cwd=order.cwd if start.executor.capabilities.starts_program else order.library or order.cwd,
            transcript=transcript,
            timeout_seconds=stretched(start.choice.timeout_seconds or base.timeout_seconds, start.stretch),
            idle_timeout_seconds=idle,
            session_cost_usd=session_cost(order.attempts, session.id),
            session_usage=session_usage(order.attempts, session.id),
            nice=start.slot.nice,
            memory_mb=start.slot.memory_mb,
            vigil=Liveness(idle, self._clock, partial(self._tell_quiet, attempt)),
        )

    async def _start(self, start: Start, call: AgentCall, attempt: Attempt, papers: Papers) -> CallResult:
        session, vigil, used = attempt.session_id, call.vigil, Usage()

        def heard(event: AgentEvent) -> None:
            nonlocal session, used
            if isinstance(event, SessionStarted) and event.session_id not in ("", session):
                session = event.session_id
                self._diary.learn(attempt.task, attempt.number, session)
            if isinstance(event, UsageSeen):
                used += event.usage
            if isinstance(event, SessionReplaced) and call.fresh_prompt and not event.resumed:
                papers.replace_prompt(call.fresh_prompt)
            if isinstance(vigil, Liveness):
                vigil.hear(event)
            papers.hear(event)
            if notices := notices_of(event):
                self._diary.notify(attempt.task, self._clock.now(), notices)
            start.on_event(event)

        begun = self._clock.monotonic()
        try:
            begin = start.executor.resume if attempt.resumed else start.executor.spawn
            return await begin(call, heard)
        except asyncio.CancelledError:
            seconds = self._clock.monotonic() - begun
            await self._interrupted(start, replace(attempt, session_id=session, usage=used), seconds)
            raise
        except OstlerError as error:
            if error.code in _HOST_TROUBLE or isinstance(error, UsageError):
                raise
            return CallResult(code=error.code, message=error.message)

    def _ended(self, start: Start, attempt: Attempt, result: CallResult) -> Attempt:
        cost, source = settle(result, start.choice.model, attempt.started_at, self._settings.prices)
        return replace(
            attempt,
            status="succeeded" if result.ok else "failed",
            duration_ms=round(result.duration_seconds * 1000),
            exit_code=result.exit_code,
            code=result.code,
            message=result.message,
            usage=result.usage,
            cost_usd=cost,
            cost_source=source,
            session_cost_usd=result.session_cost_usd,
            session_usage=result.session_usage,
            session_id=result.session_id or attempt.session_id,
            model=result.model or attempt.model,
        )

    async def _interrupted(self, start: Start, attempt: Attempt, seconds: float) -> None:
        """What it had used counts; an agent that reports dollars does so for this run, too, at its next."""
        ended = replace(
            attempt, status="interrupted", code=Code.INTERRUPTED, duration_ms=round(seconds * 1000)
        )
        if attempt.usage != Usage():
            before = session_usage(start.order.attempts, start.session.id)
            ended = replace(ended, session_usage=before + attempt.usage)
        if attempt.usage != Usage() and not start.executor.capabilities.reports_cost:
            heard = CallResult(Code.INTERRUPTED, usage=attempt.usage)
            cost, source = settle(heard, start.choice.model, attempt.started_at, self._settings.prices)
            ended = replace(ended, cost_usd=cost, cost_source=source)
        await self._diary.end(ended)

    def _tell_quiet(self, attempt: Attempt, seconds: float) -> None:
        self.note(attempt.task, AgentQuiet(attempt.number, round(seconds)))

    def _billing(self, start: Start, env: Mapping[str, str]) -> Billing:
        name, executors = start.executor.name, self._settings.executors
        own = executors[name].env if name in executors else {}
        return billing_of(kind_of(name, executors), {**env, **own, **start.choice.env})

    def _marker(self, task: TaskId, number: int) -> str:
        return f"{self._diary.store_id}:{task}:{number}"
