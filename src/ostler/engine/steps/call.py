"""CallAgent: the prompt, the call, and what it proves."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from ostler.engine.core.step import CallAgent
from ostler.engine.steps.evidence import Witness, hinges_on_changes, judge
from ostler.engine.steps.tools import Answer, Case, Tools
from ostler.engine.steps.workspace import has_changed, working_directory
from ostler.errors import Code
from ostler.executors.protocol import Executor
from ostler.files.atomic import flush_disk
from ostler.model.event import CallEnded, IterationStarted, Notice, PhaseFailed, PhaseStarted
from ostler.prompt.builder import Past, Place, build_prompt, interruption_note
from ostler.prompt.role import find_agent, load_prompt
from ostler.worker.call import CallWorker, Order, Report
from ostler.worker.session import session_for


async def call_agent(step: CallAgent, case: Case, tools: Tools) -> Answer:
    """One call; when it is cancelled the agent is stopped and the answer says interrupted."""
    worker = CallWorker(tools.settings, tools.layout, tools.writer, tools.clock, tools.environ, tools.run)
    executor = tools.make_executor(case.task, case.lock)
    order = _order(step, case, tools, executor)
    _announce(step, tools)  # last, so that one commit takes it and the attempt's beginning
    try:
        report = await worker.carry(order, executor)
    except asyncio.CancelledError:
        return Answer(_interrupted(step, order, tools))
    if report.result.ok:
        return Answer(await _succeeded(step, case, tools, executor, report))
    return _failed(step, report, tools)


def _announce(step: CallAgent, tools: Tools) -> None:
    notices: list[Notice] = [IterationStarted(step.phase, step.iteration)]
    if step.iteration == 1:
        notices.insert(0, PhaseStarted(step.phase))
    tools.writer.notify(step.task, tools.clock.now(), notices)


def _order(step: CallAgent, case: Case, tools: Tools, executor: Executor) -> Order:
    attempts = tools.journal.attempts(step.task)
    place = Place(str(working_directory(case.state, tools)), case.state.branch)
    last_answer = _last_answer(case, tools)
    role = load_prompt(find_agent(case.task.role, tools.layout.root), tools.layout.root)

    def prompt_for(knows_task: bool, how: str) -> str:
        note = interruption_note(how, place) if how else ""
        prompt = build_prompt(case.task, place, Past(step.iteration, last_answer, note, knows_task))
        return prompt if knows_task else f"{role}\n\n{prompt}"

    return Order(
        task=step.task,
        key=step.key,
        phase=step.phase,
        iteration=step.iteration,
        role=case.task.role,
        model=case.task.model or tools.settings.run.model,
        cwd=place.directory,
        session=session_for(case.state, attempts, executor.capabilities.resumes),
        attempts=attempts,
        prompt_for=prompt_for,
    )


def _last_answer(case: Case, tools: Tools) -> str:
    if not case.state.answer:
        return ""
    try:
        return (tools.layout.task(case.state.task) / case.state.answer).read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""


async def _succeeded(
    step: CallAgent, case: Case, tools: Tools, executor: Executor, report: Report
) -> CallEnded:
    witness = Witness(
        text=report.result.text,
        prompt=report.prompt,
        phase=step.phase,
        weight=case.state.weight,
        speaks=executor.capabilities.speaks,
    )
    if hinges_on_changes(witness):
        witness = replace(witness, changed=await asyncio.to_thread(has_changed, case.state, tools))
    finding = judge(witness)
    place = tools.layout.root if case.state.worktree is None else tools.layout.worktrees
    await asyncio.to_thread(flush_disk, place)  # a power cut before the commit must not leave empty files
    return CallEnded(
        phase=step.phase,
        iteration=step.iteration,
        verdict=finding.verdict,
        code=finding.code,
        message=finding.message,
        session_id=report.result.session_id,
        answer=report.answer,
        warnings=(*report.result.warnings, *finding.warnings),
        usage=report.usage,
        cost_usd=report.cost_usd,
    )


def _failed(step: CallAgent, report: Report, tools: Tools) -> Answer:
    result = report.result
    code = result.code or Code.UNKNOWN
    deferred = report.defer_seconds is not None
    ended = CallEnded(
        phase=step.phase,
        iteration=step.iteration,
        verdict="deferred" if deferred else "failed",
        code=code,
        message=result.message,
        session_id=result.session_id,
        answer=report.answer,
        resumes_at=tools.clock.now() + report.defer_seconds if report.defer_seconds is not None else None,
        usage=report.usage,
        cost_usd=report.cost_usd,
    )
    return Answer(ended, () if deferred else (PhaseFailed(step.phase, code, result.message),))


def _interrupted(step: CallAgent, order: Order, tools: Tools) -> CallEnded:
    """The session is the one that the agent had named, where it had come that far."""
    begun = tools.journal.attempts(step.task)[len(order.attempts) :]
    return CallEnded(
        phase=step.phase,
        iteration=step.iteration,
        verdict="interrupted",
        code=Code.INTERRUPTED,
        session_id=begun[-1].session_id if begun else order.session.id,
    )
