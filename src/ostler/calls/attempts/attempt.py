"""Runs one attempt of a call: records its start, runs the executor, records its events and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ostler.calls.attempts.base_call import create_base_call, identity_variables
from ostler.calls.attempts.journal import AttemptJournal
from ostler.calls.attempts.kept_answer import (
    AnswerPlaces,
    delete_kept_answer,
    find_answer_places,
    find_kept_answer,
    keep_answer,
)
from ostler.calls.attempts.liveness import LivenessMonitor
from ostler.calls.attempts.provider_wait import ProviderWait
from ostler.calls.attempts.recorder import EventRecorder
from ostler.calls.attempts.result import bill_once, end_at_budget, redact_result
from ostler.calls.attempts.running import RunningAttempts
from ostler.calls.attempts.session import AgentSession, find_session_cost, find_session_usage
from ostler.calls.attempts.session_reports import SessionReports
from ostler.calls.attempts.tool_detail import make_shortener
from ostler.calls.attempts.transcript import AttemptFiles, open_in_thread
from ostler.calls.attempts.wait_report import WaitReport
from ostler.calls.attempts.window_changes import WindowChanges
from ostler.calls.models.slots import Slot
from ostler.calls.prompts import BuiltOnce
from ostler.calls.request import CallOutcome, CallRequest
from ostler.calls.sandbox.agent import (
    AgentSandbox,
    SandboxedCall,
    find_expected_sandbox,
    open_agent_sandbox,
)
from ostler.calls.self_healing import extend_timeout
from ostler.calls.spending.billing import detect_billing
from ostler.calls.spending.prices import resolve_cost
from ostler.calls.spending.running import RunningCost
from ostler.clock import Clock
from ostler.config.settings import Settings
from ostler.errors import Code, OstlerError, UsageError, is_host_failure
from ostler.executors.protocol import Executor
from ostler.executors.registry import find_section, resolve_type
from ostler.files.failpoint import reach
from ostler.files.full_disk import repeat_while_full
from ostler.model.attempt import Attempt, CostSource
from ostler.model.call import (
    AgentCall,
    AgentEvent,
    Billing,
    CallResult,
    OnEvent,
    SessionReplaced,
    SessionStarted,
    UsageReported,
)
from ostler.model.ids import TaskId
from ostler.model.limits.limit import window_for
from ostler.model.limits.titles import account_id
from ostler.model.limits.window import ReportedWindow
from ostler.model.notice import AgentIdle, Notice
from ostler.model.policy.model_config import ModelConfig
from ostler.model.usage import Usage


class AttemptSpec(Struct, frozen=True):
    """The input of one attempt."""

    request: CallRequest
    model: ModelConfig
    executor: Executor
    session: AgentSession
    prompt: str
    fresh_prompt: BuiltOnce | None  # sent instead when the session is lost; None if the session is new
    slot: Slot
    on_event: OnEvent  # called after the event was recorded
    timeout_factor: float = 1.0
    running: RunningCost | None = None  # counts the answers that pass the proxy; None: they are not counted

    @property
    def built_prompt(self) -> str:
        """The prompt that a new session got instead of the lost one; empty if none was built."""
        return self.fresh_prompt.text if self.fresh_prompt else ""

    def report_session(self, session_id: str) -> None:
        if self.request.on_session is not None:
            self.request.on_session(session_id)

    def add_to_session(self, usage: Usage) -> Usage:
        """Return the tokens of the whole session, with those of this attempt."""
        return find_session_usage(self.request.attempts, self.session.id) + usage


class _Observed:
    """What an attempt shows while it runs: changes of its windows, and the sandbox that it got."""

    def __init__(self) -> None:
        self.windows = WindowChanges()
        self.sandboxed: SandboxedCall | None = None

    def add_to(self, attempt: Attempt, last: tuple[ReportedWindow, ...] = ()) -> Attempt:
        sandbox = self.sandboxed
        return replace(
            attempt,
            windows=self.windows.collect(last),
            sandbox=sandbox.record if sandbox else attempt.sandbox,
            permissions=sandbox.permissions if sandbox else "",
        )


class AttemptRunner:
    """Runs attempts and records them in the journal and in the files of the task."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        journal: AttemptJournal,
        clock: Clock,
        run_id: str,
        root: str,
        running: RunningAttempts | None = None,
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._journal = journal
        self._clock = clock
        self._run_id = run_id
        self._root = root
        self._running = running or RunningAttempts()

    def notify(self, task: TaskId, notice: Notice) -> None:
        """Add a notice to the task's feed."""
        self._notify_all(task, [notice])

    def _notify_all(self, task: TaskId, notices: Sequence[Notice]) -> None:
        self._journal.notify(task, self._clock.now(), notices)

    async def stop_leftovers(self, request: CallRequest) -> str:
        """Kill the processes of attempts that never ended; return a note on that for the prompt, or ""."""
        running = [attempt for attempt in request.attempts if attempt.status == "running"]
        if running:
            markers = {self._marker(request.task, attempt.number) for attempt in running}
            await self._running.sweep.kill(markers)
        was_interrupted = any(
            attempt.step == request.key and attempt.status in ("running", "interrupted")
            for attempt in request.attempts
        )
        return "the run was stopped in the middle of it" if was_interrupted else ""

    async def find_kept_answer(self, request: CallRequest) -> CallOutcome | None:
        """Return the answer that an earlier run received, but whose step it did not record."""
        return await find_kept_answer(request, self._answer_places(request), self._journal)

    async def run(self, spec: AttemptSpec) -> tuple[CallOutcome, Attempt]:
        """Run one attempt; cancelling this stops the agent and records the attempt as interrupted."""
        attempt = await self._begin(spec)
        request, capabilities = spec.request, spec.executor.capabilities
        structured = request.answer_format_for(capabilities) is not None
        with await self._open_files(spec, attempt, structured) as files:
            call, observed = self._create_call(spec, attempt, str(files.transcript)), _Observed()
            attempt = replace(attempt, billing=self._detect_billing(spec, call.env))
            work = self._run_executor(spec, call, attempt, files, observed)
            marker = self._marker(request.task, attempt.number)
            result = await self._running.run(attempt, work, marker, call.supervision)
            result = bill_once(redact_result(result), request)
            if result.billing is not None:
                attempt = replace(attempt, billing=self._detect_billing(spec, call.env, result.billing))
            ended = self._complete(spec, attempt, result, observed)
            outcome = CallOutcome(
                result=result,
                attempt=ended.number,
                answer=files.answer,
                prompt=files.prompt,
                reports_status=capabilities.answers,
                structured=structured,
            )
            await self._write_result(spec, ended, outcome, files)
        reach("attempt.end")
        await repeat_while_full(lambda: self._journal.end_attempt(ended), self._clock.sleep)
        reach("attempt.ended")
        return outcome, ended

    async def _write_result(
        self, spec: AttemptSpec, ended: Attempt, outcome: CallOutcome, files: AttemptFiles
    ) -> None:
        """Keep the answer first: it is paid for. While the disk is full, wait for space."""
        places = self._answer_places(spec.request)
        is_kept = keep_answer(spec.request, ended, outcome, places)

        async def write() -> None:
            files.write_result(outcome.result, ended.cost_usd)

        await repeat_while_full(write, self._clock.sleep)
        if not is_kept:
            keep_answer(spec.request, ended, outcome, places)

    async def _begin(self, spec: AttemptSpec) -> Attempt:
        request = spec.request
        attempt = Attempt(
            task=request.task,
            step=request.key,
            owner=self._run_id,
            phase=request.phase,
            iteration=request.iteration,
            executor=spec.executor.name,
            started_at=self._clock.now(),
            model=spec.model.model,
            model_name=spec.model.name,
            session_id=spec.session.id,
            resumed=spec.session.started,
            account=account_id(window_for(spec.model)),
            template=request.template,
            sandbox=await find_expected_sandbox(spec.executor, self._settings.sandbox, self._environ),
        )
        delete_kept_answer(self._answer_places(request))
        reach("attempt.begin")
        attempt = replace(attempt, number=await self._journal.begin_attempt(attempt))
        reach("attempt.begun")
        return attempt

    async def _open_files(self, spec: AttemptSpec, attempt: Attempt, structured: bool) -> AttemptFiles:
        """Create the files of the attempt, and pass its session on, which writes files too."""
        request, capabilities = spec.request, spec.executor.capabilities

        def create() -> AttemptFiles:
            if attempt.resumed or capabilities.accepts_session_id:
                spec.report_session(attempt.session_id)
            system, now = request.system_for(capabilities), self._clock.now
            return AttemptFiles(request.task_dir, attempt, spec.prompt, now, system, structured)

        try:
            return await open_in_thread(create)
        except asyncio.CancelledError:
            await self._record_interrupted(spec, attempt, 0.0)
            raise

    def _create_call(self, spec: AttemptSpec, attempt: Attempt, transcript: str) -> AgentCall:
        request, session, capabilities = spec.request, spec.session, spec.executor.capabilities
        marker = self._marker(request.task, attempt.number)
        identity = identity_variables(marker, self._root, request.task, request.state_file)
        base = create_base_call(self._settings, capabilities, self._environ, identity)
        answer_format = request.answer_format_for(capabilities)
        timeout = spec.model.timeout_seconds or base.timeout_seconds
        idle_timeout = extend_timeout(base.idle_timeout_seconds, spec.timeout_factor)
        return replace(
            base,
            agent=request.role,
            prompt=spec.prompt,
            system=request.system_for(capabilities),
            skill_directory="" if capabilities.starts_program else request.skill_directory,
            key=request.key,
            session_id=session.id,
            fresh_prompt=spec.fresh_prompt,
            schema=answer_format.schema if answer_format else "",
            model=spec.model.model,
            cwd=request.cwd if capabilities.starts_program else request.read_only_cwd or request.cwd,
            transcript=transcript,
            timeout_seconds=extend_timeout(timeout, spec.timeout_factor),
            idle_timeout_seconds=idle_timeout,
            session_cost_usd=find_session_cost(request.attempts, session.id),
            session_usage=find_session_usage(request.attempts, session.id),
            nice=spec.slot.nice,
            memory_mb=spec.slot.memory_mb,
            supervision=self._supervise(attempt, idle_timeout),
        )

    def _supervise(self, attempt: Attempt, idle_timeout: float) -> LivenessMonitor:
        settings = self._settings
        wait = ProviderWait(settings.retry.max_delay_seconds, settings.limits.quiet_seconds)
        on_idle = partial(self._notify_idle, attempt)
        return LivenessMonitor(idle_timeout, self._clock, on_idle, provider_wait=wait)

    async def _run_executor(
        self,
        spec: AttemptSpec,
        call: AgentCall,
        attempt: Attempt,
        files: AttemptFiles,
        observed: _Observed,
    ) -> CallResult:
        session_id, usage, has_started = attempt.session_id, Usage(), False
        waits, shorten = self._report_waits(call, attempt), make_shortener(call.cwd)
        recorder = EventRecorder(files, partial(self._notify_all, attempt.task), spec.on_event)
        sessions = SessionReports(spec.report_session)

        def on_event(event: AgentEvent) -> None:
            nonlocal session_id, usage, has_started
            if isinstance(event, UsageReported):
                usage += event.usage
            elif isinstance(event, SessionStarted):
                has_started = True
                if event.session_id not in ("", session_id):
                    session_id = event.session_id
                    self._journal.set_session(attempt.task, attempt.number, session_id)
                    sessions.add(session_id)
            elif isinstance(event, SessionReplaced) and not event.resumed and (prompt := spec.built_prompt):
                files.replace_prompt(prompt)
            if waits:
                waits.on_event(event)
            observed.windows.on_event(event)
            recorder.add(shorten(event))

        started = self._clock.monotonic()
        try:
            start = spec.executor.resume if attempt.resumed else spec.executor.spawn
            with recorder:
                sandbox = open_agent_sandbox(self._describe_sandbox(spec, call, on_event))
                async with sessions, sandbox as sandboxed:
                    observed.sandboxed = sandboxed
                    receive = sandboxed.on_event or on_event
                    result = await start(sandboxed.call, receive)
            return end_at_budget(result, spec.running)
        except asyncio.CancelledError:
            seconds = self._clock.monotonic() - started
            known = replace(observed.add_to(attempt), session_id=session_id, usage=usage)
            if (request := self._running.find_kill(attempt)) is not None:
                session = session_id if has_started else ""
                return request.create_result(session, usage, spec.add_to_session(usage), seconds)
            await self._record_interrupted(spec, known, seconds)
            raise
        except OstlerError as error:
            if is_host_failure(error.code) or isinstance(error, UsageError):
                raise
            return CallResult(code=error.code, message=error.message)
        finally:
            if waits:
                waits.close()

    def _describe_sandbox(self, spec: AttemptSpec, call: AgentCall, on_event: OnEvent) -> AgentSandbox:
        workspace, running = spec.request.workspace, spec.running
        return AgentSandbox(call, spec.executor, self._settings, on_event, workspace, running, self._environ)

    def _report_waits(self, call: AgentCall, attempt: Attempt) -> WaitReport | None:
        if not isinstance(call.supervision, LivenessMonitor):
            return None
        name = attempt.model_name or attempt.executor
        return WaitReport(call.supervision, partial(self.notify, attempt.task), name)

    def _complete(
        self, spec: AttemptSpec, attempt: Attempt, result: CallResult, observed: _Observed
    ) -> Attempt:
        cost, source = self._resolve_cost(spec, attempt, result)
        return replace(
            observed.add_to(attempt, result.windows),
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

    async def _record_interrupted(self, spec: AttemptSpec, attempt: Attempt, seconds: float) -> None:
        """Record a cancelled attempt with the tokens that it used."""
        ended = replace(
            attempt, status="interrupted", code=Code.INTERRUPTED, duration_ms=round(seconds * 1000)
        )
        if attempt.usage != Usage():
            stopped = CallResult(Code.INTERRUPTED, usage=attempt.usage, is_stopped=True)
            cost, source = self._resolve_cost(spec, attempt, stopped)
            ended = replace(ended, session_usage=spec.add_to_session(attempt.usage))
            ended = replace(ended, cost_usd=cost, cost_source=source)
        await self._journal.end_attempt(ended)

    def _resolve_cost(
        self, spec: AttemptSpec, attempt: Attempt, result: CallResult
    ) -> tuple[float | None, CostSource | None]:
        """Return the cost; an agent that reports costs adds those of a stopped attempt to its next report."""
        if result.is_stopped and spec.executor.capabilities.reports_cost:
            return None, None
        return resolve_cost(result, spec.model.model, attempt.started_at, self._settings.prices)

    def _notify_idle(self, attempt: Attempt, seconds: float) -> None:
        self.notify(attempt.task, AgentIdle(attempt.number, round(seconds)))

    def _detect_billing(
        self, spec: AttemptSpec, env: Mapping[str, str], reported: Billing | None = None
    ) -> Billing:
        name, executors = spec.executor.name, self._settings.executors
        variables = {**env, **find_section(name, executors).env, **spec.model.env}
        return detect_billing(resolve_type(name, executors), variables, reported)

    def _answer_places(self, request: CallRequest) -> AnswerPlaces:
        return find_answer_places(request.task_dir, request.task, self._journal.store_id, self._environ)

    def _marker(self, task: TaskId, number: int) -> str:
        return f"{self._journal.store_id}:{task}:{number}"
