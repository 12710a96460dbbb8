"""Sends a review: its comments, the decision and the deletion of the drafts are one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from ostler.engine.core.evolve import evolve
from ostler.engine.core.moves import list_completed_phases
from ostler.engine.task_files import write_state_file
from ostler.errors import GitError, UsageError
from ostler.files.atomic import make_private_dir
from ostler.files.failpoint import reach
from ostler.model.event import DecisionRecorded, Event, Record
from ostler.model.ids import TaskId
from ostler.model.notice import ReviewSent
from ostler.model.review import Review, ReviewVerdict, Via
from ostler.model.rows import build_row
from ostler.model.state import State
from ostler.model.status import TaskStatus
from ostler.project.decisions.earlier import find_earlier_decision
from ostler.project.person import read_user_name
from ostler.project.project import Project
from ostler.project.reviews.allowed import (
    Then,
    build_approval,
    build_return,
    find_approval,
    find_send_back,
    require_version,
)
from ostler.project.reviews.archive import write_review_file
from ostler.project.reviews.conflict import ReviewConflict, StaleReview
from ostler.project.reviews.drafts import require_text
from ostler.project.reviews.judged import keep_judged
from ostler.secrets.redact import redact_struct

_SENT = {"approve": "approved it", "changes": "sent it back"}


class NewReview(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A decision about the work that a page shows."""

    verdict: ReviewVerdict
    commit: Annotated[str, Meta(pattern=r"^[0-9a-f]{0,64}$")] | None = None  # that the page shows
    text: str = ""  # about the whole work
    then: Then = ""  # how approved work is published
    round: Annotated[int, Meta(ge=0, le=1_000_000)] = 0  # that the page shows; 0: any
    id: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.:-]{0,100}$")] = ""
    """Made by the client: a repeated request with the same id adds nothing."""


def send_review(
    project: Project, environ: Mapping[str, str], task: TaskId, new: NewReview, via: Via = ""
) -> Review:
    """Send the drafts of this person with a decision; return the review. Raises UsageError."""
    project.require_person("review tasks")
    require_text(new.text, "the text")
    if new.verdict == "changes" and new.then:
        raise UsageError("work that is sent back is not published", "leave `then` out")
    # Few tasks have files that a person edits.
    from ostler.project.tasks.files.edited_file import refuse_state_edit  # noqa: PLC0415

    refuse_state_edit(project, task, "approve" if new.verdict == "approve" else "reject")
    while True:
        number = project.journal.reviews.next_number(task)
        if (sent := project.journal.reviews.find_request(task, new.id)) is not None:
            return sent
        _keep_commit(project, project.state(task), number, new)
        reach("review.kept")
        done = project.journal.repeat(partial(_send, project, task, new, number, via))
        if done is not None:
            reach("review.sent")
            _write_files(project, *done)
            reach("review.written")
            return done[0]


def _keep_commit(project: Project, state: State, number: int, new: NewReview) -> None:
    """Keep the judged commit before the review refers to it; without it, its comments have no lines."""
    _require_current(project, state, new)
    if state.commit is None or state.base is None:
        return
    try:
        keep_judged(project, state.task, number, state.commit, state.base)
    except GitError as error:
        from logging import getLogger  # noqa: PLC0415  (rarely needed)

        message = "the commit of review %d of %s could not be kept: %s"
        getLogger(__name__).warning(message, number, state.task, error.message)


def _send(
    project: Project, task: TaskId, new: NewReview, number: int, via: Via
) -> tuple[Review, State] | None:
    """Write all of it, or nothing; None if another review got this number."""
    reviews, person = project.journal.reviews, read_user_name()
    with project.journal.transaction():
        state = project.state(task)
        if reviews.next_number(task) != number:
            return None
        _require_current(project, state, new)
        comments = reviews.drafts(task, person)
        if new.verdict == "changes" and not comments and not new.text.strip():
            raise ReviewConflict("there is nothing to send", "write a comment or a text")
        review = Review(
            number=number,
            at=project.now(),
            by=person,
            verdict=new.verdict,
            commit=state.commit,
            base=state.base,
            text=new.text,
            via=via,
            comments=comments,
        )
        event = _build_event(state, review, new)
        reviews.add(task, review, new.id)
        reach("review.added")
        after = _append(project, state, event, review)
        reach("review.decided")
    return review, after


def _require_current(project: Project, state: State, new: NewReview) -> None:
    """Raise ReviewConflict for a stale page, and for a decision that is not open any more."""
    last = project.journal.reviews.list(state.task)[-1:]
    approval = find_approval(project, state)
    allowed = approval if new.verdict == "approve" else find_send_back(state)
    if not allowed.allowed:
        message = _explain_decided(project, state, last, allowed.reason)
        raise ReviewConflict(message, f"ostler show {state.task}")
    require_version(state, new.commit, "the comments are kept")
    number = last[0].number + 1 if last else 1
    if new.round and new.round != number:
        message = f"{state.task} is in round {number}, and the page shows round {new.round}"
        if last and new.round < number:
            decided = _describe_decision(last[0])
            message = f"{state.task} was decided about since the page was loaded: {decided}"
        raise StaleReview(message, "the comments are kept")
    if last and _repeats(state, last[0], new):
        message = f"{state.task} is approved already: {_describe_decision(last[0])}"
        raise StaleReview(message)


def _repeats(state: State, last: Review, new: NewReview) -> bool:
    """Return whether completed work is approved again, with no other effect than another review."""
    approves = new.verdict == last.verdict == "approve" and not new.then
    return approves and state.status is TaskStatus.COMPLETED and last.commit == state.commit


def _explain_decided(project: Project, state: State, last: tuple[Review, ...], reason: str) -> str:
    """Return why nothing can be decided, with the last decision: a review, or one without."""
    decided = f"{_describe_decision(last[0])}; " if last else ""
    found = find_earlier_decision(project, state.task)
    if found is not None and not found.review and (not last or found.at > last[0].at):
        decided = f"{found.text}; "
    return f"{state.task} cannot be decided about now: {decided}{reason}"


def _describe_decision(review: Review) -> str:
    return f"{review.author} {_SENT[review.verdict]} (review {review.number})"


def _build_event(state: State, review: Review, new: NewReview) -> Event | None:
    event: Event | None = None
    if review.verdict == "changes":
        event = build_return(state, review.number, describe_review(review))
    elif (approval := build_approval(state, review.text, new.then)) is not None:
        event = replace(approval, review=review.number)
    return replace(event, by=review.author) if isinstance(event, DecisionRecorded) else event


def describe_review(review: Review) -> str:
    """Return the review in one line, for the history of the task."""
    count = len(review.comments)
    comments = f"{count} comment{'' if count == 1 else 's'}" if count else ""
    text = " ".join(review.text.split())
    short = text if len(text) <= 200 else f"{text[:199]}…"
    return (
        f"review {review.number} by {review.author}: {', '.join(part for part in (comments, short) if part)}"
    )


def _append(project: Project, state: State, event: Event | None, review: Review) -> State:
    """Append the decision, in the open transaction; a notice if it does not change the task."""
    if event is None:
        sent = ReviewSent(
            review.number, review.verdict, review.author, len(review.comments), review.text[:200]
        )
        project.journal.notify(state.task, review.at, [redact_struct(sent)])
        return state
    record = Record(state.task, state.seq + 1, review.at, redact_struct(event))
    after = evolve(state, record)
    appended = project.journal.append(record, build_row(after), list_completed_phases(state, after))
    assert appended, "no other writer has a transaction now"
    return after


def _write_files(project: Project, review: Review, state: State) -> None:
    """Write what can be read and rebuilt from without the journal."""
    if state.has_no_files:
        return
    make_private_dir(project.layout.task(state.task))
    write_review_file(state.task, review, project.layout)
    if not project.is_claimed(state.task):
        write_state_file(state, project.layout)
