"""What an agent is told in one call: its phase, what came of earlier ones, and what was said since."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ostler.engine.core.step import CallAgent
from ostler.engine.steps.look_back import look_back
from ostler.engine.steps.shell import read_end
from ostler.engine.steps.tools import Case, Tools, to_its_end
from ostler.engine.steps.workspace import working_directory
from ostler.errors import Code
from ostler.model.attempt import Attempt
from ostler.model.event import CallEnded, DecisionRecorded, Event, GateDecided, StepFailed, TaskReopened
from ostler.model.state import State
from ostler.prompt.answer import ANSWER_SCHEMA, SHAPED_PHASES
from ostler.prompt.builder import Past, build_prompt, interruption_note
from ostler.prompt.place import Place
from ostler.prompt.retry import Retry, retry_file_name
from ostler.prompt.role import find_agent, load_prompt
from ostler.prompt.summary import summarise
from ostler.prompt.template import Template, load_template
from ostler.prompt.variables import Findings
from ostler.worker.order import Form

_ANSWER = msgspec.json.encode(ANSWER_SCHEMA).decode()
_OUTPUT_BYTES = 64_000  # of what a gate printed; the whole is in its log


class Briefing(Struct, frozen=True):
    """Everything that the prompts of one call are made of."""

    step: CallAgent
    case: Case
    tools: Tools
    place: Place
    role: str
    template: Template
    past: Past
    structured: bool = False  # for an agent that is held to ANSWER_SCHEMA
    system: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def form(self) -> Form | None:
        """The answer that is asked for by a schema where the executor can; None: as free text."""
        if self.step.phase not in SHAPED_PHASES:
            return None
        shaped = replace(self, structured=True)
        return Form(_ANSWER, shaped.prompt, shaped.fresh_prompt)

    def prompt(self, knows_task: bool, how: str, summary: str = "") -> str:
        """The prompt, given whether the session knows the task and how the attempt before ended."""
        note = interruption_note(how, self.place) if how else ""
        past = Past(
            iteration=self.past.iteration,
            last_answer=self.past.last_answer,
            interruption=note,
            knows_task=knows_task,
            summary=summary,
            word=self.past.word,
            findings=self.past.findings,
            retry=self.past.retry,
        )
        text = build_prompt(
            self.case.task, self.place, past, self.step.phase, self.template, structured=self.structured
        )
        return text if knows_task else f"{self.role}\n\n{text}"

    async def fresh_prompt(self, executor: str, how: str, attempts: list[Attempt]) -> str:
        """The same for an agent that remembers nothing, with what is known of the work so far."""
        work = await to_its_end(look_back, self.case.state, attempts, self.tools)
        return self.prompt(False, how, summarise(work, executor) if work.attempts else "")


def brief(step: CallAgent, case: Case, tools: Tools, attempts: list[Attempt]) -> Briefing:
    """Gather what the agent should know."""
    state, root = case.state, tools.layout.root
    target = tools.settings.git.target or state.target
    word, retry = told_since(case, tools)
    past = Past(
        iteration=step.iteration,
        last_answer=_read(tools.layout.task(state.task), state.answer),
        word=word,
        findings=_findings(state, tools.layout.task(state.task), attempts),
        retry=retry,
    )
    return Briefing(
        step=step,
        case=case,
        tools=tools,
        place=Place(str(working_directory(state, tools)), state.branch, target),
        role=load_prompt(find_agent(role_of(case), root), root),
        template=load_template(step.phase, state.current.prompt, root),
        past=past,
    )


def role_of(case: Case) -> str:
    """Who works on this phase."""
    return case.state.current.role or case.task.role


def told_since(case: Case, tools: Tools) -> tuple[str, Retry | None]:
    """What a person says, and why the work came back; the state only knows where that is written."""
    state = case.state
    if not state.word:
        return "", None
    said = tools.journal.read(state.task, state.word - 1)[0].event
    home = tools.layout.task(state.task)
    if (told := _failure_in(said, state, home)) is not None:
        return "", told
    match said:
        case DecisionRecorded(text=text) | TaskReopened(text=text):
            return text, _last_failure(state, home, tools) if state.retry_of else None
        case _:
            return "", None


def _failure_in(event: Event | Raw, state: State, home: Path) -> Retry | None:
    """The failure that a record tells of, if it does."""
    match event:
        case GateDecided(verdict="fail", reason=reason, output=output):
            return _retry(state, home, reason, read_end(home / output, _OUTPUT_BYTES) if output else "")
        case CallEnded(verdict="blocked", message=message, answer=answer):
            return _retry(state, home, message, _read(home, answer))
        case DecisionRecorded(verb="reject", text=text) if state.retry_of:
            return _retry(state, home, text or "a person said no", "")
        case StepFailed(code=Code.MERGE_CONFLICT, files=files) if state.retry_of:
            return _conflict(state, files)
        case _:
            return None


def _last_failure(state: State, home: Path, tools: Tools) -> Retry | None:
    """Why the work came back, where a person has said something since."""
    told = (_failure_in(one.event, state, home) for one in reversed(tools.journal.read(state.task)))
    return next((failure for failure in told if failure is not None), None)


def _retry(state: State, home: Path, reason: str, output: str) -> Retry:
    failed = next((one for one in state.phases if one.id == state.retry_of), state.phases[state.phase])
    path = home / retry_file_name(failed.id, failed.retries)
    return Retry(
        failed.id, state.current.id, failed.retries, reason, output, str(path) if path.exists() else ""
    )


def _conflict(state: State, files: tuple[str, ...]) -> Retry:
    target = state.target or "the target branch"
    reason = (
        f"the branch could not be published, as it and {target} both changed the files below. Ostler has "
        f"merged {target} into the branch: where both changed a place, the file has the task's lines after "
        f"<<<<<<< and those of {target} after =======. Make the work fit {target}: keep what {target} has, "
        "keep what the task is for, and leave no mark. Do not undo the merge"
    )
    failed = state.phases[-1]
    name = state.current.id if failed.id == state.current.id else "publish"
    return Retry(name, state.current.id, failed.retries, reason, "\n".join(files))


def _findings(state: State, home: Path, attempts: list[Attempt]) -> Findings:
    def last_answer_of(phase: str) -> str:
        done = [a for a in attempts if a.phase == phase and a.status == "succeeded"]
        return _read(home, done[-1].transcript.removesuffix(".jsonl") + ".answer.md") if done else ""

    reviews = sum(a.phase == "review" and a.status == "succeeded" for a in attempts)
    gates = (f"{one.id}: {one.gate.verdict} {one.gate.reason}".strip() for one in state.phases if one.gate)
    return Findings(
        research=last_answer_of("research"),
        spec=last_answer_of("spec"),
        design=last_answer_of("design"),
        review=last_answer_of("review"),
        review_round=reviews,
        verification="\n".join(gates),
    )


def _read(home: Path, path: str) -> str:
    """One of the task's papers; empty where there is none."""
    if not path:
        return ""
    try:
        return (home / path).read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""
