"""The ai gate: another agent judges the commit, in a checkout of its own."""

from __future__ import annotations

import uuid
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from ostler.engine.core.step import CheckGate
from ostler.engine.steps.checkout import clean_checkout
from ostler.engine.steps.finding import Finding, log_of
from ostler.engine.steps.judgement import (
    JUDGEMENT_SCHEMA,
    Judgement,
    Question,
    ask,
    ask_again,
    read_judgement,
)
from ostler.engine.steps.signature import signature_of
from ostler.engine.steps.tools import Case, Tools, to_its_end
from ostler.engine.steps.worker import worker_for
from ostler.engine.steps.workspace import working_directory
from ostler.errors import Code
from ostler.git.diff import diff, diff_stat
from ostler.model.allowance import allowance_of
from ostler.model.attempt import Attempt
from ostler.model.event import TaskDeferred, TaskPaused
from ostler.prompt.role import find_agent, load_prompt
from ostler.prompt.skill import load_skill_content
from ostler.worker.order import Form, Order, Report
from ostler.worker.session import Session

_ROLE = "reviewer"
_LARGEST_CHANGE = 50_000  # lines; a larger one is looked at in the checkout
_NAMES = uuid.UUID("6f73746c-6572-4000-8000-677561726473")

Ruling = Finding | TaskDeferred | TaskPaused


async def review(step: CheckGate, answer: str, case: Case, tools: Tools) -> Ruling:
    """The reviewer's word on the commit; where there is none, on what the phase said and left."""
    if tools.repository is None or step.sha is None:
        return await _review_in(working_directory(case.state, tools), step, answer, case, tools)
    log = tools.layout.task(step.task) / log_of(step, case).replace(".log", ".setup.log")
    async with clean_checkout(step.sha, log, case, tools) as directory:
        return await _review_in(directory, step, answer, case, tools)


async def _review_in(place: Path, step: CheckGate, answer: str, case: Case, tools: Tools) -> Ruling:
    change = await to_its_end(_describe_change, step, case, tools)
    question = Question(case.task, step.phase, step.gate.criteria, step.sha, change, answer)
    answer_paper = ""
    for again in (False, True):
        report = await worker_for(case, tools).carry(_order(step, question, place, again, case, tools))
        if not report.result.ok:
            return _unheard(report, tools)
        if (judgement := read_judgement(report.result.text, report.prompt)) is not None:
            return _finding(judgement, report)
        answer_paper = report.answer
    return Finding("could_not_run", "the reviewer twice gave no judgement that can be read", answer_paper)


def _finding(judgement: Judgement, report: Report) -> Finding:
    if judgement.verdict == "approved":
        return Finding("pass", judgement.reason, report.answer)
    said = "\n".join((judgement.reason, *(f"- {finding}" for finding in judgement.findings)))
    return Finding("fail", judgement.reason or "rejected", report.answer, said, signature_of(said))


def _unheard(report: Report, tools: Tools) -> Ruling:
    """The reviewer could not be asked: for now, until there is money again, or at all."""
    result = report.result
    code = result.code or Code.UNKNOWN
    if report.resumes_at is not None:
        return TaskDeferred(code, result.message, report.resumes_at)
    if code is Code.BUDGET_EXCEEDED and tools.settings.budget.on_exceed == "pause":
        return TaskPaused(code, result.message)
    return Finding("could_not_run", f"the reviewer could not be asked: {code}: {result.message}")


def _describe_change(step: CheckGate, case: Case, tools: Tools) -> str:
    repository, base = tools.repository, case.state.base
    if repository is None or base is None or step.sha is None:
        return ""
    size = diff_stat(repository, base, step.sha)
    if size.insertions + size.deletions <= _LARGEST_CHANGE:
        return diff(repository, base, step.sha).decode("utf-8", "replace")
    return (
        f"{size.files} files, {size.insertions} lines added, {size.deletions} removed: too much to print. "
        f"Look at it with: git diff {base} {step.sha}"
    )


def _order(step: CheckGate, question: Question, place: Path, again: bool, case: Case, tools: Tools) -> Order:
    task = case.task
    prompt = ask(question, _reviewer(step.gate.skill, tools))
    key = f"gate:{step.key}"

    def prompt_for(knows_task: bool, how: str) -> str:
        return ask_again(prompt if not knows_task else "") if again else prompt

    async def fresh_prompt_for(executor: str, how: str, attempts: list[Attempt]) -> str:
        return prompt_for(False, how)

    own = replace(task, role=_ROLE)
    return Order(
        task=step.task,
        key=key,
        phase=f"{step.phase}-gate",  # not the phase's own words
        iteration=case.state.iteration,
        role=_ROLE,
        pool=tools.pool_for(replace(own, executor="", model="") if _ROLE in tools.settings.agents else own),
        cwd=str(place),
        papers=tools.layout.task(step.task),
        attempts=tools.journal.attempts(step.task),
        session_for=partial(_session, f"{case.state.session_seed}/{key}", key),
        prompt_for=prompt_for,
        fresh_prompt_for=fresh_prompt_for,
        form=Form(JUDGEMENT_SCHEMA, prompt_for, fresh_prompt_for),
        feature=task.feature,
        priority=task.priority,
        budget_usd=allowance_of(tools.journal.read(step.task)),
    )


def _reviewer(skill: str, tools: Tools) -> str:
    """What the reviewer is told to be: the role, or a skill with its references."""
    root = tools.layout.root
    if not skill:
        return load_prompt(find_agent(_ROLE, root), root)
    content = load_skill_content(skill, root, tools.settings.skills)
    return "\n\n".join((content.body, *(one.content for one in content.references)))


def _session(seed: str, key: str, executor: str, resumes: bool, attempts: list[Attempt]) -> Session:
    """One of its own for each time that a gate is asked."""
    begun = [a.session_id for a in attempts if a.step == key and a.executor == executor and a.session_id]
    if begun:
        return Session(begun[-1], begun=resumes)
    return Session(str(uuid.uuid5(_NAMES, f"{seed}/{executor}")), begun=False)
