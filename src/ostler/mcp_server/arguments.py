"""What each tool takes; the descriptions are what a model reads."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from ostler.model.status import TaskStatus
from ostler.model.task import Priority, Weight
from ostler.prompt.report import Said

MOST = 500

_Id = Annotated[str, Meta(min_length=1, description="The task's id, or a beginning that only one task has.")]
_Usd = Annotated[float, Meta(gt=0)]


class Submit(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    title: Annotated[str, Meta(min_length=1, max_length=200, description="What should be done, in one line.")]
    body: Annotated[
        str,
        Meta(description="All that its agent must know, as Markdown; it sees nothing of this conversation."),
    ] = ""
    weight: Annotated[
        Weight, Meta(description="How large it is: from trivial, one call, to greenfield, all phases.")
    ] = "small"
    priority: Annotated[Priority, Meta(description="P0 goes first.")] = "P2"
    executor: Annotated[str, Meta(description="The agent; empty: as the project's settings say.")] = ""
    model: Annotated[str, Meta(description="The model; empty: as the project's settings say.")] = ""
    skill: Annotated[str, Meta(description="Write a document with this skill instead of changing code.")] = ""
    after: Annotated[
        tuple[str, ...], Meta(description="Ids of tasks that must be completed before it begins.")
    ] = ()
    budget_usd: Annotated[_Usd | None, Meta(description="The most that it may cost, in dollars.")] = None


class List(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    status: Annotated[
        tuple[TaskStatus, ...],
        Meta(description="Only these. needs_review, blocked and paused wait for a person. Empty: all."),
    ] = ()
    filter: Annotated[str, Meta(description="Only tasks whose id or title has this text.")] = ""
    limit: Annotated[int, Meta(ge=1, le=MOST, description="At most so many, the last changed first.")] = 50
    compact: Annotated[bool, Meta(description="A short row per task; false: all fields but attempts.")] = True


class One(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: _Id


class Approve(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: _Id
    text: Annotated[str, Meta(description="A note that is kept with the decision.")] = ""


class Reject(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: _Id
    text: Annotated[str, Meta(min_length=1, description="The reason, for whoever does it again.")]


class Cancel(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: _Id
    reason: Annotated[str, Meta(description="Why; kept with the task.")] = ""


class Resume(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: _Id
    text: Annotated[str, Meta(description="What its agent is told first: an answer to what it asked.")] = ""


class Retry(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: _Id
    budget_usd: Annotated[
        _Usd | None, Meta(description="What it may cost in all, with what it has cost already.")
    ] = None


class Report(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    status: Annotated[
        Said,
        Meta(
            description="complete: this phase is done. blocked: you cannot go on without help. "
            "paused: stop here for now. needs_review: a person should look before it goes on."
        ),
    ]
    reason: Annotated[str, Meta(description="Why, for whoever reads it; what you need when blocked.")] = ""
