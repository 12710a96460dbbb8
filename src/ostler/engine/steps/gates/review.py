"""The ai gate: another agent reviews the commit in a clean checkout."""

from __future__ import annotations

import uuid
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from ostler.calls.attempts.session import AgentSession
from ostler.calls.request import AnswerFormat, CallOutcome, CallRequest
from ostler.calls.thread import run_in_thread
from ostler.engine.core.step import CheckGate
from ostler.engine.steps.agent_call.caller import make_caller
from ostler.engine.steps.gates.result import GateResult, gate_log_path
from ostler.engine.steps.gates.review_prompt import (
    REVIEW_SCHEMA,
    Review,
    ReviewRequest,
    build_repeated_prompt,
    build_review_prompt,
    parse_review,
)
from ostler.engine.steps.gates.signature import compute_signature
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.box_files import create_workspace
from ostler.engine.steps.workspaces.checkout import check_out_commit
from ostler.engine.steps.workspaces.worktree import working_directory
from ostler.errors import Code, needs_account_fix
from ostler.git.commit.diff import diff_commits, read_diff_stat
from ostler.model.attempt import Attempt
from ostler.model.event import TaskDeferred, TaskHeld, TaskPaused
from ostler.model.policy.budget import find_task_budget
from ostler.model.task import REVIEWER
from ostler.prompt.role import find_agent, load_prompt
from ostler.skills.content import load_skill_content

_LARGEST_CHANGE = 50_000  # lines; the reviewer reads a larger change in the checkout
_NAMES = uuid.UUID("6f73746c-6572-4000-8000-677561726473")

ReviewOutcome = GateResult | TaskDeferred | TaskHeld | TaskPaused


async def review_commit(
    step: CheckGate, answer: str, context: TaskContext, services: StepServices
) -> ReviewOutcome:
    """Let an agent review the commit, or the answer and the workspace if there is no commit."""
    if services.repository is None or step.sha is None:
        return await _review_in(working_directory(context.state, services), step, answer, context, services)
    log = services.layout.task(step.task) / gate_log_path(step, context).replace(".log", ".setup.log")
    async with check_out_commit(step.sha, log, context, services, isolated=False) as directory:
        return await _review_in(directory, step, answer, context, services)


async def _review_in(
    directory: Path, step: CheckGate, answer: str, context: TaskContext, services: StepServices
) -> ReviewOutcome:
    change = await run_in_thread(_describe_change, step, context, services)
    request = ReviewRequest(context.task, step.phase, step.gate.criteria, step.sha, change, answer)
    answer_path = ""
    for question in (1, 2):
        outcome = await make_caller(context, services).run(
            _build_request(step, request, directory, question, context, services)
        )
        if not outcome.result.ok:
            return _build_failure(outcome, services)
        if (review := parse_review(outcome.result.text, outcome.prompt)) is not None:
            return _build_gate_result(review, outcome)
        answer_path = outcome.answer
    reason = "the reviewer gave no readable verdict in two attempts"
    return GateResult("could_not_run", reason, answer_path, cause="reviewer")


def _build_gate_result(review: Review, outcome: CallOutcome) -> GateResult:
    if review.verdict == "approved":
        return GateResult("pass", review.reason, outcome.answer)
    text = "\n".join((review.reason, *(f"- {finding}" for finding in review.findings)))
    return GateResult("fail", review.reason or "rejected", outcome.answer, text, compute_signature(text))


def _build_failure(outcome: CallOutcome, services: StepServices) -> ReviewOutcome:
    """Return what a failed call of the reviewer means: wait for a limit, for budget, or no verdict."""
    result = outcome.result
    code = result.code or Code.UNKNOWN
    if outcome.resumes_at is not None and needs_account_fix(code):
        return TaskHeld(code, result.message)
    if outcome.resumes_at is not None:
        return TaskDeferred(code, result.message, outcome.resumes_at)
    if code is Code.BUDGET_EXCEEDED and services.settings.budget.on_exceed == "pause":
        return TaskPaused(code, result.message)
    reason = f"the reviewer could not be called: {code}: {result.message}"
    return GateResult("could_not_run", reason, cause="reviewer")


def _describe_change(step: CheckGate, context: TaskContext, services: StepServices) -> str:
    repository, base = services.repository, context.state.base
    if repository is None or base is None or step.sha is None:
        return ""
    size = read_diff_stat(repository, base, step.sha)
    if size.insertions + size.deletions <= _LARGEST_CHANGE:
        return diff_commits(repository, base, step.sha).decode("utf-8", "replace")
    return (
        f"{size.files} files, {size.insertions} lines added, {size.deletions} removed: too large to include. "
        f"Read it with: git diff {base} {step.sha}"
    )


def _build_request(
    step: CheckGate,
    review_request: ReviewRequest,
    directory: Path,
    question: int,
    context: TaskContext,
    services: StepServices,
) -> CallRequest:
    task = context.task
    prompt = build_review_prompt(review_request, _load_reviewer(step.gate.skill, services))
    # Another question has another key: an executor replays the answer to a key that it has answered.
    session_key = f"gate:{step.key}"
    key = session_key if question == 1 else f"{session_key}/{question}"

    def prompt_for(knows_task: bool, how: str) -> str:
        return build_repeated_prompt(prompt if not knows_task else "") if question > 1 else prompt

    async def fresh_prompt_for(executor: str, how: str, attempts: list[Attempt]) -> str:
        return prompt_for(False, how)

    own = replace(task, role=REVIEWER)
    return CallRequest(
        task=step.task,
        key=key,
        phase=f"{step.phase}-gate",  # so that its answers are not taken for those of the phase
        iteration=_count_iterations(step.phase, context),
        role=REVIEWER,
        pool=services.pool_for(
            replace(own, executor="", model="") if REVIEWER in services.settings.agents else own
        ),
        cwd=str(directory),
        workspace=create_workspace(directory, context, services, review=session_key),
        task_dir=services.layout.task(step.task),
        attempts=services.journal.attempts(step.task),
        select_session=partial(_choose_session, context.state.session_seed, session_key),
        build_prompt=prompt_for,
        build_fresh_prompt=fresh_prompt_for,
        answer_format=AnswerFormat(REVIEW_SCHEMA, prompt_for, fresh_prompt_for),
        feature=task.feature,
        priority=task.priority,
        budget_usd=find_task_budget(services.journal.read(step.task)),
    )


def _count_iterations(phase: str, context: TaskContext) -> int:
    """Return the number of the iteration whose work is reviewed."""
    found = (one.iterations for one in context.state.phases if one.id == phase)
    return max(1, next(found, context.state.shown_iteration))


def _load_reviewer(skill: str, services: StepServices) -> str:
    """Return the prompt of the reviewer role, or a skill with its references."""
    root = services.layout.root
    if not skill:
        return load_prompt(find_agent(REVIEWER, root), root)
    content = load_skill_content(skill, root, services.settings.skills)
    return "\n\n".join((content.body, *(one.content for one in content.references)))


def _choose_session(
    seed: str, key: str, executor: str, resumes: bool, attempts: list[Attempt]
) -> AgentSession:
    """Return a separate session for each check of the gate, for all its questions."""
    own = [a for a in attempts if a.step == key or a.step.startswith(f"{key}/")]
    earlier = [a.session_id for a in own if a.executor == executor and a.session_id]
    if earlier:
        return AgentSession(earlier[-1], started=resumes)
    return AgentSession(str(uuid.uuid5(_NAMES, f"{seed}/{key}/{executor}")), started=False)
