"""The prompts of a phase: the first one, the one that goes on, and the one after an interruption."""

from __future__ import annotations

from msgspec import Struct

from ostler.model.task import Task
from ostler.prompt.completion import without_marks
from ostler.prompt.excerpt import both_ends
from ostler.prompt.place import Place
from ostler.prompt.retry import Retry, retry_note
from ostler.prompt.template import Template, built_in, render_template, variables_of
from ostler.prompt.variables import Findings, build_template_vars

_MARKS = """\
When the work is complete and you have checked it, end your last message with
`<phase_complete>true</phase_complete>`. If you are blocked, or cannot go on without a person, end it with
`<phase_blocked>the reason</phase_blocked>` instead."""

_STRUCTURED = """\
Your last message is the object that is asked for. Its status is complete when the work is complete and you
have checked it; blocked, with the reason, when you are blocked or cannot go on without a person; continue
when more is to be done. Whatever else you have to say goes into its summary. If nothing asks you for an
object, end your last message with `<phase_complete>true</phase_complete>` or with
`<phase_blocked>the reason</phase_blocked>`."""

_ASK_FOR_MARK = """\
You have not said whether the work is complete. Look at what is there, finish what is missing, and then
say so."""

_TELLS_WHY = {"RETRY_CONTEXT", "RETRY_FEEDBACK", "RETRY_REASON"}
_HEAD_LENGTH, _TAIL_LENGTH = 10_000, 30_000  # characters of an answer that is carried over


class Past(Struct, frozen=True):
    """What happened before this call that the agent should know."""

    iteration: int = 1
    last_answer: str = ""  # carried over where each iteration has a fresh session
    interruption: str = ""  # how an earlier attempt at this very iteration ended
    knows_task: bool = False  # the session that is continued has seen the task
    summary: str = ""  # of the work so far, where the session that did it is lost
    word: str = ""  # what a person said when they let it go on
    findings: Findings = Findings()  # what earlier phases left behind
    retry: Retry | None = None  # why this phase is done again


def build_prompt(
    task: Task,
    place: Place,
    past: Past,
    phase: str = "implement",
    template: Template | None = None,
    *,
    structured: bool = False,
) -> str:
    """The whole text for one attempt; `structured` where the agent's program enforces ANSWER_SCHEMA."""
    parts = (
        [_continuation(past), _retry(past)]
        if past.knows_task
        else [*_assignment(task, place, past, phase, template or built_in(phase)), _earlier(past)]
    )
    parts += [
        _section("What happened before", past.interruption),
        _section("A person says", past.word),
        _section("How to end", _STRUCTURED if structured else _MARKS),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def interruption_note(how: str, place: Place) -> str:
    """What a resumed agent is told about the attempt before it."""
    look = "git status and git diff show them" if place.branch else "look before you write"
    return (
        f"An earlier attempt at this ended before it was done: {how}. "
        f"Whatever it changed is still in the working directory ({look}); go on from there."
    )


def _assignment(task: Task, place: Place, past: Past, phase: str, template: Template) -> list[str]:
    """The rendered template; a failure that it has no place for follows it."""
    variables = build_template_vars(
        task, phase, past.iteration, past.retry, place=place, findings=past.findings
    )
    rendered = render_template(template.text, variables).strip()
    return [rendered, "" if _TELLS_WHY & variables_of(template) else _retry(past)]


def _earlier(past: Past) -> str:
    if past.summary:
        return past.summary if past.iteration == 1 else f"{past.summary}\n\n{_ASK_FOR_MARK}"
    answer = both_ends(without_marks(past.last_answer).strip(), _HEAD_LENGTH, _TAIL_LENGTH)
    if past.iteration == 1 or not answer:
        return ""
    return f"## Your answer in the last iteration\n\n{answer}\n\n{_ASK_FOR_MARK}"


def _continuation(past: Past) -> str:
    return "Go on with the task." if past.interruption or past.word or _is_back(past) else _ASK_FOR_MARK


def _retry(past: Past) -> str:
    return _section("What went wrong before", retry_note(past.retry)) if past.retry and _is_back(past) else ""


def _is_back(past: Past) -> bool:
    """Whether the session may not know yet why the work came back.

    A phase that is sent back to itself counts its iterations on, so the number says nothing there.
    """
    if past.retry is None:
        return False
    return past.iteration == 1 or not past.knows_task or past.retry.phase == past.retry.to


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text.strip()}" if text.strip() else ""
