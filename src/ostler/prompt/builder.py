"""Builds the prompts of a phase: first, continued, and after an interruption."""

from __future__ import annotations

from msgspec import Struct

from ostler.model.task import Task
from ostler.prompt.completion import strip_marks
from ostler.prompt.dialogue import Exchange, format_dialogue
from ostler.prompt.excerpt import keep_both_ends
from ostler.prompt.retry import Retry, format_retry_note
from ostler.prompt.template import Template, list_variables, load_built_in, render_template
from ostler.prompt.variables import EarlierResults, WorkingDirectory, build_template_vars

_MARKS = """\
When the work is complete and you have checked it, end your last message with
`<phase_complete>true</phase_complete>`. If you are blocked, or cannot continue without a person, end it with
`<phase_blocked>the reason</phase_blocked>` instead."""

_STRUCTURED = """\
Your last message is the requested object. Its status is complete when the work is complete and you have
checked it; blocked, with the reason, when you are blocked or cannot continue without a person; continue when
there is more to do. Anything else goes into its summary. If no object is requested, end your last message
with `<phase_complete>true</phase_complete>` or with `<phase_blocked>the reason</phase_blocked>`."""

_ASK_FOR_MARK = """\
You have not stated whether the work is complete. Check the current state, finish what is missing, and then
state it."""

NO_CHANGES = """\
You reported that the work is complete, but every file is as it was at the start of the task, except for files
that no commit contains (ignored ones, and those inside a submodule). Make the change that the task asks for.
If there is nothing to change, report why with `ostler report --status complete --reason TEXT`, and a person
decides."""

_RETRY_VARIABLES = {"RETRY_CONTEXT", "RETRY_FEEDBACK", "RETRY_REASON"}
_HEAD_LENGTH, _TAIL_LENGTH = 10_000, 30_000  # characters of an earlier answer


class CallHistory(Struct, frozen=True):
    """What happened before this call."""

    iteration: int = 1
    last_answer: str = ""  # set when each iteration has a new session
    interruption: str = ""  # how an earlier attempt at this iteration ended
    session_has_task: bool = False  # the resumed session has seen the task
    summary: str = ""  # of the work so far, when its session is lost
    feedback: str = ""  # what a person wrote when they resumed the task
    earlier_feedback: tuple[str, ...] = ()  # that earlier calls of the phase received
    dialogue: tuple[Exchange, ...] = ()  # questions of the agent and their answers
    answered: bool = False  # no call has received the last answer yet
    missing: str = ""  # what the work lacks, such as any change
    results: EarlierResults = EarlierResults()  # of earlier phases
    retry: Retry | None = None  # why this phase is repeated
    retry_delivered: bool = False  # a call of its session received that reason


def build_prompt(
    task: Task,
    workdir: WorkingDirectory,
    history: CallHistory,
    phase: str = "implement",
    template: Template | None = None,
    *,
    structured: bool = False,
) -> str:
    """Return the prompt for one attempt; `structured` when the agent enforces ANSWER_SCHEMA."""
    parts = (
        [_format_continuation(history), _format_retry(history, phase)]
        if history.session_has_task
        else [
            *_render_assignment(task, workdir, history, phase, template or load_built_in(phase)),
            _format_earlier_work(history),
        ]
    )
    parts += [
        _format_section("What happened before", history.interruption),
        _format_section("Your questions and the answers", _format_answers(history)),
        _format_section("Feedback from a person", _format_feedback(history)),
        _format_section("What is missing", history.missing),
        _format_section("How to end", _STRUCTURED if structured else _MARKS),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def describe_interruption(how: str, workdir: WorkingDirectory) -> str:
    """Return the note about an interrupted attempt."""
    look = "git status and git diff show them" if workdir.branch else "look before you write"
    return (
        f"An earlier attempt at this was interrupted: {how}. "
        f"Its changes are still in the working directory ({look}); continue from there."
    )


def describe_move(how: str, workdir: WorkingDirectory) -> str:
    """Return the note to an agent whose task continues on another machine; `how` as above, or empty."""
    interrupted = f"An earlier attempt at this was interrupted: {how}. " if how else ""
    return (
        f"{interrupted}The task was moved to another machine, where you continue in {workdir.directory}: "
        "the commits of the branch are here (git log shows them); running processes and files that no commit "
        "contains, such as installed packages, are not."
    )


def _render_assignment(
    task: Task, workdir: WorkingDirectory, history: CallHistory, phase: str, template: Template
) -> list[str]:
    """Return the rendered template, and the retry note if the template does not include it."""
    variables = build_template_vars(
        task, phase, history.iteration, history.retry, workdir=workdir, results=history.results
    )
    rendered = render_template(template.text, variables).strip()
    note = "" if _RETRY_VARIABLES & list_variables(template) else _format_retry(history, phase)
    return [rendered, note]


def _format_earlier_work(history: CallHistory) -> str:
    asks = history.iteration > 1 and not _has_other_request(history)
    request = f"\n\n{_ASK_FOR_MARK}" if asks else ""
    if history.summary:
        return history.summary + request
    answer = keep_both_ends(strip_marks(history.last_answer).strip(), _HEAD_LENGTH, _TAIL_LENGTH)
    if history.iteration == 1 or not answer:
        return ""
    return f"## Your answer in the last iteration\n\n{answer}{request}"


def _format_continuation(history: CallHistory) -> str:
    return "Continue with the task." if _has_other_request(history) else _ASK_FOR_MARK


def _has_other_request(history: CallHistory) -> bool:
    """Return whether the iteration has another reason than an answer without a mark."""
    texts = (history.interruption, history.feedback, history.missing)
    return any(texts) or history.answered or _needs_retry_note(history)


def _format_answers(history: CallHistory) -> str:
    """Return every exchange for a new session, and the last one if a session does not have it yet."""
    if not history.session_has_task:
        return format_dialogue(history.dialogue)
    return format_dialogue(history.dialogue[-1:]) if history.answered else ""


def _format_feedback(history: CallHistory) -> str:
    """Return all feedback on the phase for a new session, else what its session does not have yet."""
    earlier = () if history.session_has_task else history.earlier_feedback
    return "\n\n".join(filter(None, (*(text.strip() for text in earlier), history.feedback.strip())))


def _format_retry(history: CallHistory, phase: str) -> str:
    if history.retry is None or not _needs_retry_note(history):
        return ""
    title = "A review of your work" if history.retry.review else "What went wrong before"
    return _format_section(title, format_retry_note(history.retry, phase))


def _needs_retry_note(history: CallHistory) -> bool:
    """Return whether the session may not have the reason of the retry yet."""
    return history.retry is not None and not (history.session_has_task and history.retry_delivered)


def _format_section(title: str, text: str) -> str:
    return f"## {title}\n\n{text.strip()}" if text.strip() else ""
