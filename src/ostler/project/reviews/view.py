"""The review of a task (ostler.review/1): what a person decides about, and the earlier reviews."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import asdict

from ostler.errors import Code
from ostler.model.attempt import Attempt
from ostler.model.ids import TaskId
from ostler.model.plan import MERGE
from ostler.model.review import Comment, CommentState, MappedComment, Place, Reply, Review, ReviewVerdict, Via
from ostler.model.rows import is_held
from ostler.model.state import GateState, State
from ostler.model.status import TaskStatus
from ostler.model.warning import describe_warnings
from ostler.project.person import read_user_name
from ostler.project.project import Project
from ostler.project.reviews.allowed import Approval, SendBack, find_approval, find_send_back, find_version
from ostler.project.reviews.answers import read_replies, read_summary
from ostler.project.reviews.current_lines import find_draft_lines, find_lines
from ostler.prompt.answer import NO_REASON
from ostler.views.accept import ConflictView
from ostler.views.verdicts import Verdicts, view_verdicts

_MOST_WAITING = 500
_ASKS = (Code.NEEDS_INPUT, Code.AGENT_BLOCKED)


class Allowed(Struct, frozen=True, kw_only=True):
    """What can be decided now."""

    approve: Approval
    send_back: SendBack


class ReviewGate(Struct, frozen=True, kw_only=True):
    """The verdict of a gate."""

    name: str
    verdict: str
    reason: str
    detail: str  # the command of the gate; empty: it has none
    sha: str | None
    current: bool  # it is about the commit that is reviewed
    by: str | None  # person who decided
    original: str | None  # verdict that this person overruled


class ViewedFile(Struct, frozen=True):
    """A file that this person has viewed, as it was then."""

    path: str
    blob: str


class SentComment(Comment, frozen=True, kw_only=True):
    """A comment of a sent review, and what has become of it."""

    number: int  # in the bundle for the agent, from 1
    state: CommentState = "unknown"  # by git
    now: Place | None = None  # its lines in the current work; null: they are gone
    since: tuple[str, ...] = ()  # lines of the changes there, each with its sign
    reply: Reply | None = None  # of the agent
    resolved: bool = False


class DraftComment(Comment, frozen=True, kw_only=True):
    """A comment that is not sent, and where its lines are if the work has changed since."""

    state: CommentState = "unchanged"
    now: Place | None = None  # null: its lines are gone


class SentReview(Struct, frozen=True, kw_only=True):
    """A review that was sent."""

    number: int
    at: float
    by: str
    commit: str | None
    base: str | None
    verdict: ReviewVerdict
    text: str
    via: Via
    comments: tuple[SentComment, ...]


class ReviewView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.review/1"
    id: str
    title: str
    status: TaskStatus
    priority: str
    round: int  # the number of the next review
    person: str  # who asks, and would send it
    commit: str | None
    version: str  # the commit, or the digest of a document: sent with a decision
    base: str | None
    document: bool
    agent: str
    duration_ms: int
    cost_usd: float | None
    can: Allowed
    gates: tuple[ReviewGate, ...]
    verdicts: Verdicts | None  # of the gates about the commit, in one line
    conflict: ConflictView | None  # that blocks the task
    summary: str  # the final words of the agent
    question: str  # that the agent asked; empty: none
    message: str  # why it waits for a person; empty: it does not
    warnings: tuple[str, ...]
    viewed: tuple[ViewedFile, ...]
    drafts: tuple[DraftComment, ...]
    reviews: tuple[SentReview, ...]
    next: str | None  # the next task that waits for a review
    waiting: int  # tasks that wait for a review


def show_review(project: Project, task: TaskId) -> ReviewView:
    """Return the review of a task, with the drafts and marks of this person."""
    state, attempts = project.state(task), project.journal.attempts(task)
    store, person = project.journal.reviews, read_user_name()
    reviews, waiting = store.list(task), _list_waiting(project)
    return ReviewView(
        id=task,
        title=state.title,
        status=state.status,
        priority=state.priority,
        round=store.next_number(task),
        person=person,
        commit=state.commit,
        version=find_version(state),
        base=state.base,
        document=state.plan.is_document,
        agent=_name_agent(attempts),
        duration_ms=sum(one.duration_ms or 0 for one in attempts),
        cost_usd=state.cost_usd,
        can=Allowed(approve=find_approval(project, state), send_back=find_send_back(state)),
        gates=_list_gates(state),
        verdicts=view_verdicts(state),
        conflict=_find_conflict(project, state),
        summary=read_summary(project, state, attempts),
        question=_find_question(state),
        message=state.message if state.status in (TaskStatus.NEEDS_REVIEW, TaskStatus.BLOCKED) else "",
        warnings=describe_warnings(state),
        viewed=tuple(ViewedFile(path, blob) for path, blob in store.viewed(task, person)),
        drafts=_view_drafts(project, state, store.drafts(task, person)),
        reviews=_view_reviews(project, state, reviews, attempts),
        next=next((one for one in waiting if one != task), None),
        waiting=len(waiting),
    )


def _view_drafts(project: Project, state: State, drafts: tuple[Comment, ...]) -> tuple[DraftComment, ...]:
    version = find_version(state)
    found = find_draft_lines(project, state, tuple(one for one in drafts if one.commit != version))
    mapped = {one.id: one for one in found}
    return tuple(
        DraftComment(**asdict(one), state=mapped[one.id].state, now=mapped[one.id].place)
        if one.id in mapped
        else DraftComment(**asdict(one), now=one.place)
        for one in drafts
    )


def _view_reviews(
    project: Project, state: State, reviews: tuple[Review, ...], attempts: list[Attempt]
) -> tuple[SentReview, ...]:
    replies = read_replies(project, state, reviews, attempts)
    resolved = project.journal.reviews.resolved(state.task)
    return tuple(
        SentReview(
            number=review.number,
            at=review.at,
            by=review.by,
            commit=review.commit,
            base=review.base,
            verdict=review.verdict,
            text=review.text,
            via=review.via,
            comments=tuple(
                _view_comment(comment, mapped, number, replies.get((review.number, number)), resolved)
                for number, (comment, mapped) in enumerate(
                    zip(review.comments, find_lines(project, state, review), strict=True), 1
                )
            ),
        )
        for review in reviews
    )


def _view_comment(
    comment: Comment,
    found: MappedComment,
    number: int,
    reply: Reply | None,
    resolved: frozenset[str],
) -> SentComment:
    return SentComment(
        **asdict(comment),
        number=number,
        state=found.state,
        now=found.place,
        since=found.since,
        reply=reply,
        resolved=comment.id in resolved,
    )


def _list_gates(state: State) -> tuple[ReviewGate, ...]:
    named = [(one.id, one.gate) for one in state.phases] + [(one.name, one.gate) for one in state.gates]
    return tuple(_view_gate(name, gate, state) for name, gate in (*named, (MERGE, state.merge)) if gate)


def _view_gate(name: str, gate: GateState, state: State) -> ReviewGate:
    return ReviewGate(
        name=name,
        verdict=gate.commit_verdict,
        reason=gate.reason if gate.commit_verdict == gate.verdict else "",
        detail=gate.check.command if gate.check else "",
        sha=gate.sha,
        current=state.is_about_last_commit(gate),
        by=gate.by or None,
        original=gate.original,
    )


def _find_conflict(project: Project, state: State) -> ConflictView | None:
    """Return the conflict of a blocked task; its records are read only then."""
    return project.show(state.task).conflict if state.code is Code.MERGE_CONFLICT else None


def _name_agent(attempts: list[Attempt]) -> str:
    """Return the model of the last attempt, after the executor unless its name begins with that."""
    for last in attempts[-1:]:
        model = last.model or ""
        return model if model.startswith(last.executor) else f"{last.executor} {model}".strip()
    return ""


def _find_question(state: State) -> str:
    asks = state.status is TaskStatus.BLOCKED and state.code in _ASKS
    return state.message if asks and state.message != NO_REASON else ""


def _list_waiting(project: Project) -> list[TaskId]:
    """Return the tasks whose work waits for a decision, in the order of the inbox."""
    found = [one.id for one in project.journal.listing.inbox("review", None, _MOST_WAITING)]
    held = {row.id for row in project.journal.named_rows(found) if is_held(row)}
    return [one for one in found if one not in held]
