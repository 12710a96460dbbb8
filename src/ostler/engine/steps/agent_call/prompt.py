"""Builds the prompt of a call: the phase, earlier results, and feedback."""

from __future__ import annotations

from pathlib import Path

from msgspec import Raw, Struct
from msgspec.structs import replace

from ostler.calls.request import AnswerFormat
from ostler.calls.thread import run_in_thread
from ostler.engine.core.step import CallAgent
from ostler.engine.steps.agent_call.dialogue import read_dialogue
from ostler.engine.steps.agent_call.history import summarize_history
from ostler.engine.steps.agent_call.review import read_person_text, read_review_text
from ostler.engine.steps.gates.review_prompt import parse_review
from ostler.engine.steps.services import StepServices, TaskContext
from ostler.engine.steps.workspaces.moved_sessions import has_moved
from ostler.engine.steps.workspaces.shell import read_end
from ostler.engine.steps.workspaces.worktree import working_directory
from ostler.errors import Code
from ostler.files.atomic import write_atomic
from ostler.model.attempt import Attempt
from ostler.model.event import (
    REVIEW_REQUEST,
    CallEnded,
    DecisionRecorded,
    Event,
    GateDecided,
    Record,
    StepFailed,
    TaskReopened,
)
from ostler.model.state import BY_TIMEOUT, State
from ostler.prompt.answer import ANSWER_SCHEMA_JSON, STRUCTURED_PHASES
from ostler.prompt.builder import NO_CHANGES, CallHistory, build_prompt, describe_interruption, describe_move
from ostler.prompt.retry import Retry, format_retry_file, make_retry_file_name
from ostler.prompt.role import find_agent, load_prompt
from ostler.prompt.template import Template, find_template
from ostler.prompt.variables import EarlierResults, WorkingDirectory
from ostler.secrets.redact import redact_bytes

_OUTPUT_BYTES = 64_000  # from the end of a gate's output; its log has all of it


class CallPrompt(Struct, frozen=True):
    """The parts from which the prompts of one call are built."""

    step: CallAgent
    context: TaskContext
    services: StepServices
    workspace: WorkingDirectory
    role: str
    template: Template
    past: CallHistory
    structured: bool = False  # the answer has to match ANSWER_SCHEMA
    moved: bool = False  # the last attempt ran on another machine
    system: str = ""
    model_system: str = ""  # the same for every executor
    skill_directory: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def template_source(self) -> str:
        return self.template.shown_source

    @property
    def form(self) -> AnswerFormat | None:
        """The schema of the answer, for executors that can enforce one; None: free text."""
        if self.step.phase not in STRUCTURED_PHASES:
            return None
        shaped = replace(self, structured=True)
        return AnswerFormat(ANSWER_SCHEMA_JSON, shaped.prompt, shaped.fresh_prompt)

    def prompt(self, knows_task: bool, how: str, summary: str = "") -> str:
        """Return the prompt; `how` describes how the previous attempt ended."""
        note = describe_move(how, self.workspace) if self.moved else ""
        if how and not self.moved:
            note = describe_interruption(how, self.workspace)
        past = replace(self.past, interruption=note, session_has_task=knows_task, summary=summary)
        text = build_prompt(
            self.context.task,
            self.workspace,
            past,
            self.step.phase,
            self.template,
            structured=self.structured,
        )
        return text if knows_task else f"{self.role}\n\n{text}"

    async def fresh_prompt(self, executor: str, how: str, attempts: list[Attempt]) -> str:
        """Return the prompt for a new session, with a summary of the work so far."""
        from ostler.prompt.summary import summarize_work  # noqa: PLC0415  (imported on use)

        work = await run_in_thread(summarize_history, self.context.state, attempts, self.services)
        return self.prompt(False, how, summarize_work(work, executor) if work.attempts else "")


def build_call_prompt(
    step: CallAgent,
    context: TaskContext,
    services: StepServices,
    attempts: list[Attempt],
    records: list[Record],
) -> CallPrompt:
    """Collect the parts of a call's prompt."""
    state, root = context.state, services.layout.root
    target = services.settings.git.target or state.target
    feedback, retry = read_feedback(context, services)
    dialogue = read_dialogue(context, services, records)
    exchanges = dialogue.exchanges
    answered = bool(exchanges) and exchanges[-1].seq == state.feedback_seq
    past = CallHistory(
        iteration=step.iteration,
        last_answer=_read_task_file(services.layout.task(state.task), state.answer),
        feedback="" if answered else feedback,
        earlier_feedback=tuple(text for seq, text in dialogue.feedback if seq != state.feedback_seq),
        dialogue=exchanges,
        answered=answered,
        missing=NO_CHANGES if state.unchanged and state.no_changes == "asked" else "",
        results=_collect_findings(state, services.layout.task(state.task), attempts),
        retry=retry,
        retry_delivered=_is_retry_delivered(state, attempts),
    )
    return CallPrompt(
        step=step,
        context=context,
        services=services,
        workspace=WorkingDirectory(str(working_directory(state, services)), state.branch, target),
        role=load_prompt(find_agent(current_role(context), root), root),
        template=find_template(step.phase, state.current.prompt, services.settings.phases.prompts, root),
        past=past,
        moved=has_moved(attempts, services),
    )


def _is_retry_delivered(state: State, attempts: list[Attempt]) -> bool:
    """Return whether a call of the phase has ended since another phase sent the work back.

    A phase that is sent back to itself stays in its round: the reason is repeated there.
    """
    prefix = f"{state.task}/{state.round}.{state.current.id}."
    ended = any(one.step.startswith(prefix) and one.status == "succeeded" for one in attempts)
    return ended and state.retry_of != state.current.id


def current_role(context: TaskContext) -> str:
    """Return the role for the current phase."""
    return context.state.current.role or context.task.role


def read_feedback(context: TaskContext, services: StepServices) -> tuple[str, Retry | None]:
    """Return the feedback of a person, and the failure that caused a retry."""
    state = context.state
    if not state.feedback_seq:
        return "", None
    event = services.journal.read(state.task, state.feedback_seq - 1)[0].event
    task_dir = services.layout.task(state.task)
    if (failure := _retry_from_event(event, state, task_dir)) is not None:
        if (review := read_review_text(event, context, services)) is not None:
            return "", replace(failure, review=review)
        return "", _show_path(_keep_in_file(failure, task_dir, services), state, services)
    match event:
        case (DecisionRecorded() | TaskReopened()) as written:
            text = read_person_text(written, context, services)
            last = _find_last_failure(state, task_dir, services) if state.retry_of else None
            return text, _show_path(
                _keep_in_file(last, task_dir, services), state, services
            ) if last else None
        case _:
            return "", None


def _keep_in_file(failure: Retry, task_dir: Path, services: StepServices) -> Retry:
    """Write the file of a failure that no gate has written: a person's rejection, or a blocked phase."""
    path = task_dir / make_retry_file_name(failure.phase, failure.attempt)
    if failure.path or not failure.attempt:
        return failure
    now, reason = services.clock.now(), failure.reason
    text = format_retry_file(failure.phase, failure.to, failure.attempt, now, reason, failure.output)
    write_atomic(path, redact_bytes(text.encode("utf-8", "replace")))
    return replace(failure, path=str(path))


def _show_path(failure: Retry, state: State, services: StepServices) -> Retry:
    """Name the file below .ostler: some agents refuse paths in .git."""
    shown = services.layout.shown_task(state.task) / Path(failure.path).name
    return replace(failure, path=str(shown)) if failure.path and shown.exists() else failure


def _retry_from_event(event: Event | Raw, state: State, task_dir: Path) -> Retry | None:
    """Return the failure in an event; None if it has none."""
    match event:
        case GateDecided(verdict="fail", gate="ai", reason=reason, output=output):
            return replace(_build_review_retry(state, task_dir, reason, output), reviewer="A reviewer")
        case GateDecided(verdict="fail", reason=reason, output=output):
            return _build_retry(
                state, task_dir, reason, read_end(task_dir / output, _OUTPUT_BYTES) if output else ""
            )
        case CallEnded(verdict="blocked", message=message, answer=answer):
            return _build_retry(state, task_dir, message, _read_task_file(task_dir, answer))
        case DecisionRecorded(verb="reject", text=text, by=by) if state.retry_of:
            reviewer = "A timeout" if by == BY_TIMEOUT else "A person"
            return replace(_build_retry(state, task_dir, text, ""), reviewer=reviewer)
        case TaskReopened(by=by, text=text) if by == REVIEW_REQUEST and state.retry_of:
            return replace(_build_retry(state, task_dir, text, ""), reviewer="A person")
        case StepFailed(code=Code.MERGE_CONFLICT, files=files) if state.retry_of:
            return _build_conflict_retry(state, files)
        case _:
            return None


def _find_last_failure(state: State, task_dir: Path, services: StepServices) -> Retry | None:
    """Return the failure that caused the retry, if feedback was given after it."""
    failures = (
        _retry_from_event(one.event, state, task_dir) for one in reversed(services.journal.read(state.task))
    )
    return next((failure for failure in failures if failure is not None), None)


def _build_retry(state: State, task_dir: Path, reason: str, output: str) -> Retry:
    failed = next((one for one in state.phases if one.id == state.retry_of), state.phases[state.phase])
    path = task_dir / make_retry_file_name(failed.id, failed.returns)
    to = state.retry_to or state.current.id
    return Retry(failed.id, to, failed.returns, reason, output, str(path) if path.exists() else "")


def _build_review_retry(state: State, task_dir: Path, reason: str, output: str) -> Retry:
    """Return the findings of a reviewing agent, which ends its answer with one JSON object."""
    answer = _read_task_file(task_dir, output)
    review = parse_review(answer)
    text = "\n".join(f"- {one}" for one in review.findings) if review else answer
    return _build_retry(state, task_dir, reason, text)


def _build_conflict_retry(state: State, files: tuple[str, ...]) -> Retry:
    target = state.target or "the target branch"
    reason = (
        f"the branch could not be published, because it and {target} both changed the files below. Ostler "
        f"has merged {target} into the branch: conflicting lines of the task follow <<<<<<< and those of "
        f"{target} follow =======. Resolve the conflicts: keep the changes of {target}, keep what the task "
        "is for, and leave no conflict marker. Do not undo the merge"
    )
    failed, to = state.phases[-1], state.retry_to or state.current.id
    name = to if failed.id == to else "publish"
    return Retry(name, to, failed.returns, reason, "\n".join(files))


def _collect_findings(state: State, task_dir: Path, attempts: list[Attempt]) -> EarlierResults:
    def last_answer_of(phase: str) -> str:
        done = [a for a in attempts if a.phase == phase and a.status == "succeeded"]
        return (
            _read_task_file(task_dir, done[-1].transcript.removesuffix(".jsonl") + ".answer.md")
            if done
            else ""
        )

    reviews = sum(a.phase == "review" and a.status == "succeeded" for a in attempts)
    gates = (f"{one.id}: {one.gate.verdict} {one.gate.reason}".strip() for one in state.phases if one.gate)
    return EarlierResults(
        research=last_answer_of("research"),
        spec=last_answer_of("spec"),
        design=last_answer_of("design"),
        review=last_answer_of("review"),
        review_round=reviews,
        verification="\n".join(gates),
    )


def _read_task_file(task_dir: Path, path: str) -> str:
    """Return the text of a file in the task's directory; empty if it does not exist."""
    if not path:
        return ""
    try:
        return (task_dir / path).read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""
