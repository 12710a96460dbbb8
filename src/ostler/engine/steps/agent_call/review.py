"""Reads the review of a person for the prompt of the agent whose work it is about."""

from __future__ import annotations

from msgspec import Raw

from ostler.engine.steps.services import StepServices, TaskContext
from ostler.files.atomic import write_atomic
from ostler.model.event import DecisionRecorded, Event, TaskReopened
from ostler.model.ids import TaskId
from ostler.prompt.review import Answer, format_review, make_review_file_name, shorten_review
from ostler.secrets.redact import redact_bytes
from ostler.skills.outputs import is_always_file


def read_person_text(
    event: DecisionRecorded | TaskReopened, context: TaskContext, services: StepServices
) -> str:
    """Return what a person wrote with a decision: the whole review, or the text of the decision."""
    review = read_review_text(event, context, services)
    return event.text if review is None else review


def read_review_text(event: Event | Raw, context: TaskContext, services: StepServices) -> str | None:
    """Return the review of a decision, and write its file; None if the decision has none."""
    number = event.review if isinstance(event, DecisionRecorded | TaskReopened) else 0
    if not number:
        return None
    with services.store.open_reviews() as reviews:
        review = reviews.find(context.state.task, number)
    if review is None:
        return None
    answer = choose_answer(context)
    whole = format_review(review, answer).encode("utf-8", "replace")
    path = services.layout.task(context.state.task) / make_review_file_name(number)
    write_atomic(path, redact_bytes(whole))
    shown = services.layout.shown_task(context.state.task) / path.name
    return shorten_review(review, answer, str(shown if shown.exists() else path))


def choose_answer(context: TaskContext) -> Answer:
    """Return where the agent answers the comments; only the phase that repeats the work does."""
    state = context.state
    if state.retry_of and state.current.id != state.retry_to:
        return "none"
    if not state.plan.is_document:
        return "message"
    output = context.task.output
    return "message" if output is not None and is_always_file(output.path) else "document"


def has_review(task: TaskId, services: StepServices) -> bool:
    """Return whether a person has sent the work of a task back with a review."""
    decisions = (one.event for one in services.journal.read(task))
    return any(isinstance(one, DecisionRecorded | TaskReopened) and one.review for one in decisions)
