"""CallAgent: the prompt, the call, and what it proves."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ostler.engine.core.step import CallAgent
from ostler.engine.steps.agent_state import hand_out, state_file, take_back
from ostler.engine.steps.briefing import Briefing, brief, role_of
from ostler.engine.steps.document import Writing, brief_writer
from ostler.engine.steps.evidence import Witness, hinges_on_changes, judge
from ostler.engine.steps.tools import Answer, Case, Tools
from ostler.engine.steps.worker import worker_for
from ostler.engine.steps.workspace import has_changed, working_directory
from ostler.errors import Code
from ostler.files.atomic import flush_disk
from ostler.model.allowance import allowance_of
from ostler.model.attempt import Attempt
from ostler.model.event import CallEnded, Verdict
from ostler.model.notice import IterationStarted, Notice, PhaseFailed, PhaseStarted
from ostler.prompt.report import Reading, Word, read_report
from ostler.worker.order import Order, Report
from ostler.worker.session import Session, held_by, session_for


async def call_agent(step: CallAgent, case: Case, tools: Tools) -> Answer:
    """One call; when it is cancelled the agent is stopped and the answer says interrupted."""
    attempts = tools.journal.attempts(step.task)
    document = case.state.plan.document
    briefing = brief_writer(case, tools) if document else brief(step, case, tools, attempts)
    order = _order(step, case, tools, briefing, attempts)
    after = tools.journal.position()
    handed = hand_out(Path(order.state_file), case)
    _announce(step, tools)  # last, so that one commit takes it and the attempt's beginning
    try:
        report = await worker_for(case, tools).carry(order)
    except asyncio.CancelledError:
        return Answer(_interrupted(step, case, order, tools))
    if report.result.ok:
        said = _own_word(order, report, after, tools) or take_back(Path(order.state_file), handed)
        ended = await _succeeded(step, case, tools, report, said)
        return Answer(replace(ended, warnings=(*ended.warnings, *briefing.warnings)))
    return _failed(step, report, tools)


def _announce(step: CallAgent, tools: Tools) -> None:
    notices: list[Notice] = [IterationStarted(step.phase, step.iteration)]
    if step.iteration == 1:
        notices.insert(0, PhaseStarted(step.phase))
    tools.writer.notify(step.task, tools.clock.now(), notices)


def _order(
    step: CallAgent, case: Case, tools: Tools, briefing: Briefing | Writing, attempts: list[Attempt]
) -> Order:
    task = case.task

    def session(executor: str, resumes: bool, attempts: list[Attempt]) -> Session:
        return session_for(case.state, attempts, executor, resumes)

    return Order(
        task=step.task,
        key=step.key,
        phase=step.phase,
        iteration=step.iteration,
        role=role_of(case),
        pool=tools.pool_for(replace(task, role=role_of(case))),
        cwd=str(working_directory(case.state, tools)),
        papers=tools.layout.task(step.task),
        attempts=attempts,
        session_for=session,
        prompt_for=briefing.prompt,
        fresh_prompt_for=briefing.fresh_prompt,
        form=briefing.form,
        preferred=held_by(case.state, attempts),
        feature=task.feature,
        priority=task.priority,
        budget_usd=allowance_of(tools.journal.read(step.task)),
        state_file=str(state_file(case, tools)),
        system=briefing.system,
        library=str(tools.layout.root) if case.state.plan.document else "",
    )


def _own_word(order: Order, report: Report, after: int, tools: Tools) -> Reading | None:
    """What the agent said of its task by `ostler report`."""
    word: Word | None = None
    while lines := tools.journal.feed(after, order.task):
        for line in lines:
            body = msgspec.json.decode(line.body)
            if body.get("type") == "agent_reported" and body.get("attempt") == report.attempt:
                word = read_report(body["status"], body.get("reason", ""))
        after = lines[-1].position
    return Reading(word) if word else None


async def _succeeded(step: CallAgent, case: Case, tools: Tools, report: Report, said: Reading) -> CallEnded:
    witness = Witness(
        text=report.result.text,
        prompt=report.prompt,
        phase=step.phase,
        weight=case.state.weight,
        speaks=report.speaks,
        structured=report.structured,
        word=said.word,
        document=case.state.plan.document,
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
        warnings=(*report.result.warnings, *finding.warnings, *filter(None, [said.warning])),
    )


def _failed(step: CallAgent, report: Report, tools: Tools) -> Answer:
    result = report.result
    code = result.code or Code.UNKNOWN
    verdict = _verdict(code, report, tools)
    ended = CallEnded(
        phase=step.phase,
        iteration=step.iteration,
        verdict=verdict,
        code=code,
        message=result.message,
        session_id=result.session_id,
        answer=report.answer,
        resumes_at=report.resumes_at,
    )
    return Answer(ended, (PhaseFailed(step.phase, code, result.message),) if verdict == "failed" else ())


def _verdict(code: Code, report: Report, tools: Tools) -> Verdict:
    """What a call that did not succeed means for its task."""
    if report.resumes_at is not None:
        return "deferred"
    if code is Code.NEEDS_INPUT:
        return "blocked"
    pauses = code is Code.BUDGET_EXCEEDED and tools.settings.budget.on_exceed == "pause"
    return "paused" if pauses else "failed"


def _interrupted(step: CallAgent, case: Case, order: Order, tools: Tools) -> CallEnded:
    """The session is the one that the agent had named, where it had come that far."""
    attempts = tools.journal.attempts(step.task)
    begun = attempts[len(order.attempts) :]
    return CallEnded(
        phase=step.phase,
        iteration=step.iteration,
        verdict="interrupted",
        code=Code.INTERRUPTED,
        session_id=begun[-1].session_id if begun else case.state.session_id,
    )
