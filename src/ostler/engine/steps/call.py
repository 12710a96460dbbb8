"""CallAgent: builds the prompt, calls the agent and evaluates its answer."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ostler.calls.attempts.kept_answer import has_kept_answer
from ostler.calls.attempts.page import find_page, write_verdict
from ostler.calls.attempts.session import AgentSession, model_of_session, select_session
from ostler.calls.request import CallOutcome, CallRequest
from ostler.calls.thread import run_in_thread
from ostler.engine.core.step import CallAgent
from ostler.engine.steps.agent_call.caller import find_task_answer, make_caller
from ostler.engine.steps.agent_call.evidence import (
    CallVerdict,
    Evidence,
    block_repetition,
    depends_on_changes,
    evaluate,
)
from ostler.engine.steps.agent_call.prompt import CallPrompt, build_call_prompt, current_role
from ostler.engine.steps.agent_call.provided_files import read_document_file
from ostler.engine.steps.agent_call.repetition import find_last_call, find_repetition, read_answer
from ostler.engine.steps.agent_call.sandbox_record import FoundInFeed, add_sandbox, read_feed
from ostler.engine.steps.agent_call.state_file import AgentState, agent_state_path, read_agent_state
from ostler.engine.steps.services import StepResult, StepServices, TaskContext
from ostler.engine.steps.workspaces.box_files import create_workspace
from ostler.engine.steps.workspaces.moved_sessions import restore_sessions
from ostler.engine.steps.workspaces.watch import Watch, end_watch, start_watch
from ostler.engine.steps.workspaces.worktree import has_changed, working_directory
from ostler.errors import Code, OstlerError, needs_account_fix
from ostler.model.attempt import Attempt
from ostler.model.event import CallEnded, Record, Verdict
from ostler.model.notice import IterationStarted, Notice, PhaseFailed, PhaseStarted
from ostler.model.policy.budget import find_task_budget
from ostler.model.policy.model_config import ModelPool
from ostler.model.state import State
from ostler.model.warning import WarningDetail
from ostler.prompt.report import StateFileReport

if TYPE_CHECKING:
    from ostler.engine.steps.agent_call.document import DocumentCallPrompt


async def call_agent(step: CallAgent, context: TaskContext, services: StepServices) -> StepResult:
    """Call the agent; if cancelled, stop it and return an interrupted call."""
    attempts, records = services.journal.attempts(step.task), services.journal.read(step.task)
    document = context.state.plan.is_document
    if document:
        from ostler.engine.steps.agent_call.document import build_document_prompt  # noqa: PLC0415  (imported on use)

        prompt = build_document_prompt(context, services, records)
    else:
        prompt = build_call_prompt(step, context, services, attempts, records)
    # In a thread: it reads files of logins, and the first call imports the modules of the executors.
    pool = await run_in_thread(services.pool_for, replace(context.task, role=current_role(context)))
    request = _build_request(step, context, services, prompt, attempts, records, pool)
    is_kept = has_kept_answer(request, find_task_answer(step.task, services))
    # A report of the attempt whose answer is kept is older than this run.
    after = 0 if is_kept else services.journal.position()
    written = AgentState(Path(request.state_file), context, services)
    watch = await run_in_thread(_start_call, None if is_kept else written, context, services)
    if not is_kept:
        request = replace(request, on_session=written.note_session)
    await restore_sessions(request, services)
    # Last, so that the notices and the start of the attempt share one commit.
    _notify_started(step, context.state, services)

    def complete(ended: CallEnded, found: FoundInFeed) -> CallEnded:
        return add_sandbox(_add_details(ended, (*details, *found.refused)), request, services)

    try:
        outcome = await make_caller(context, services).run(request)
    except asyncio.CancelledError:
        interrupted = _build_interruption(step, context, request, services)
        details = await run_in_thread(_end_call, watch, context, services)
        return StepResult(complete(interrupted, read_feed(after, step.task, services)))
    # Before the evaluation: patterns that the agent wrote to info/exclude would hide its changes.
    details, refused = await run_in_thread(_take_in_work, watch, request, outcome, context, services)
    found = read_feed(after, step.task, services, outcome.attempt)
    if outcome.result.ok:
        reading = found.report or read_agent_state(Path(request.state_file), written.text)
        last = find_last_call(step, records)
        ended = await _build_success(step, context, services, outcome, reading, written.began_ns, last)
        ended = replace(ended, warnings=(*ended.warnings, *prompt.warnings, *refused))
        notices = ()
    else:
        ended, notices = _build_failure(step, outcome, services)
    if outcome.answer:
        write_verdict(find_page(request.task_dir / outcome.answer), ended)
    # A power cut after the record must leave neither empty files nor an answer that is lost.
    worked = services.layout.root if context.state.worktree is None else services.layout.worktrees
    flush = (worked, request.task_dir) if outcome.result.ok else ()
    return StepResult(complete(ended, found), notices, flush)


def _take_in_work(
    watch: Watch | None,
    request: CallRequest,
    outcome: CallOutcome,
    context: TaskContext,
    services: StepServices,
) -> tuple[tuple[WarningDetail, ...], tuple[str, ...]]:
    """Take in the commits and the proposals of the agent; return what it changed, and warnings."""
    details = _end_call(watch, context, services)
    refused = services.take_in_proposals(request.task, outcome.attempt, Path(request.state_file))
    return details, refused


def _start_call(written: AgentState | None, context: TaskContext, services: StepServices) -> Watch | None:
    """Start to watch what the agent changes, and write its copy of the state unless it is not called."""
    watch = start_watch(context, services)
    if written is not None:
        written.write(context.state)
    return watch


def _end_call(watch: Watch | None, context: TaskContext, services: StepServices) -> tuple[WarningDetail, ...]:
    """Take over the commits of the agent, and return what it changed that it should not."""
    from ostler.engine.steps.workspaces.agent_commits import take_agent_commits  # noqa: PLC0415  (imported on use)

    return (*take_agent_commits(context.state, services), *end_watch(watch, context, services))


def _add_details(ended: CallEnded, details: tuple[WarningDetail, ...]) -> CallEnded:
    codes = tuple(dict.fromkeys(one.code for one in details))
    return replace(ended, warnings=(*ended.warnings, *codes), warning_details=details)


def _notify_started(step: CallAgent, state: State, services: StepServices) -> None:
    notices: list[Notice] = [IterationStarted(step.phase, step.iteration)]
    if state.phases[state.phase].status == "pending":
        notices.insert(0, PhaseStarted(step.phase))
    services.writer.notify(step.task, services.clock.now(), notices)


def _build_request(
    step: CallAgent,
    context: TaskContext,
    services: StepServices,
    prompt: CallPrompt | DocumentCallPrompt,
    attempts: list[Attempt],
    records: list[Record],
    pool: ModelPool,
) -> CallRequest:
    task, cwd = context.task, working_directory(context.state, services)

    def session(executor: str, resumes: bool, attempts: list[Attempt]) -> AgentSession:
        return select_session(context.state, attempts, executor, resumes)

    return CallRequest(
        task=step.task,
        key=step.key,
        phase=step.phase,
        iteration=step.iteration,
        role=current_role(context),
        pool=pool,
        cwd=str(cwd),
        task_dir=services.layout.task(step.task),
        attempts=attempts,
        select_session=session,
        build_prompt=prompt.prompt,
        build_fresh_prompt=prompt.fresh_prompt,
        answer_format=prompt.form,
        preferred=model_of_session(context.state, attempts),
        feature=task.feature,
        priority=task.priority,
        budget_usd=find_task_budget(records),
        state_file=str(agent_state_path(context, services)),
        workspace=create_workspace(cwd, context, services),
        system=prompt.system,
        model_system=prompt.model_system,
        skill_directory=prompt.skill_directory,
        template=prompt.template_source,
        read_only_cwd=str(services.layout.root) if context.state.plan.is_document else "",
    )


async def _build_success(
    step: CallAgent,
    context: TaskContext,
    services: StepServices,
    outcome: CallOutcome,
    reading: StateFileReport,
    began_ns: int | None,
    last: CallEnded | None,
) -> CallEnded:
    evidence = Evidence(
        text=outcome.result.text,
        prompt=outcome.prompt,
        phase=step.phase,
        weight=context.state.weight,
        reports_status=outcome.reports_status,
        structured=outcome.structured,
        report=reading.report,
        is_document=context.state.plan.is_document,
    )
    if depends_on_changes(evidence):
        evidence = replace(evidence, changed=await asyncio.to_thread(has_changed, context.state, services))
    verdict = _require_document(evaluate(evidence), context, services)
    files = ""
    if verdict.verdict == "continue" and not evidence.is_document:
        repeats, files = await asyncio.to_thread(
            find_repetition, step, outcome.answer, began_ns, context, services, last
        )
        verdict = block_repetition(read_answer(step, outcome.answer, services)) if repeats else verdict
    return CallEnded(
        phase=step.phase,
        iteration=step.iteration,
        verdict=verdict.verdict,
        code=verdict.code,
        message=verdict.message,
        session_id=outcome.result.session_id,
        answer=outcome.answer,
        warnings=(*outcome.result.warnings, *verdict.warnings, *filter(None, [reading.warning])),
        files=files,
    )


def _require_document(verdict: CallVerdict, context: TaskContext, services: StepServices) -> CallVerdict:
    """Return the verdict, or a failure if the agent did not write the file that is its document."""
    if not context.state.plan.is_document or verdict.verdict not in ("complete", "continue", "review"):
        return verdict
    try:
        written = read_document_file(context, services)
    except OstlerError as error:
        if error.code is not Code.NO_RESULT:
            raise
        return CallVerdict("failed", Code.NO_RESULT, error.message)
    return CallVerdict("complete") if written is not None and verdict.verdict == "continue" else verdict


def _build_failure(
    step: CallAgent, outcome: CallOutcome, services: StepServices
) -> tuple[CallEnded, tuple[Notice, ...]]:
    result = outcome.result
    code = result.code or Code.UNKNOWN
    verdict = _choose_verdict(code, outcome, services)
    ended = CallEnded(
        phase=step.phase,
        iteration=step.iteration,
        verdict=verdict,
        code=code,
        message=result.message,
        session_id=result.session_id,
        answer=outcome.answer,
        resumes_at=outcome.resumes_at,
    )
    return ended, (PhaseFailed(step.phase, code, result.message),) if verdict == "failed" else ()


def _choose_verdict(code: Code, outcome: CallOutcome, services: StepServices) -> Verdict:
    """Return what a failed call means for its task."""
    if outcome.resumes_at is not None:
        return "held" if needs_account_fix(code) else "deferred"
    if code is Code.NEEDS_INPUT:
        return "blocked"
    pauses = code is Code.BUDGET_EXCEEDED and services.settings.budget.on_exceed == "pause"
    return "paused" if pauses else "failed"


def _build_interruption(
    step: CallAgent, context: TaskContext, request: CallRequest, services: StepServices
) -> CallEnded:
    """Return the interrupted call, with the session that the agent has reported."""
    attempts = services.journal.attempts(step.task)
    started = attempts[len(request.attempts) :]
    return CallEnded(
        phase=step.phase,
        iteration=step.iteration,
        verdict="interrupted",
        code=Code.INTERRUPTED,
        session_id=started[-1].session_id if started else context.state.session_id,
    )
