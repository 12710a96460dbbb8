"""What requests may say: the parts of an address behind the question mark, and the bodies."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from ostler.model.task import Priority, Weight
from ostler.store.listing import Sort
from ostler.views.cost import By
from ostler.views.cost_series import Bucket, SeriesBy
from ostler.views.groups import Group

Position = Annotated[int, Meta(ge=0, le=2**53)]
Line = Annotated[str, Meta(max_length=2000)]
Said = Annotated[str, Meta(min_length=1, pattern=r"\S")]
Dollars = Annotated[float, Meta(gt=0, le=1e12)]


class Query(Struct, frozen=True, forbid_unknown_fields=True):
    """The part of an address behind the question mark."""


class Body(Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON object of a POST."""


class TasksQuery(Query, frozen=True):
    group: Group | None = None
    status: Line = ""  # several, with commas
    q: Line = ""
    pipeline: Line = ""
    priority: Priority | None = None
    sort: Sort = "updated"
    after: Line = ""  # the `next` of the page before
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


class EventsQuery(Query, frozen=True):
    after: Position = 0
    task: Line = ""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 500


class StreamQuery(Query, frozen=True):
    after: Position | None = None  # none: from now on
    task: Line = ""


class StoryQuery(Query, frozen=True):
    offset: Annotated[int, Meta(ge=-1, le=2**53)] = 0  # -1: the end
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200


class CostQuery(Query, frozen=True):
    by: By = "task"
    since: Line = ""


class SeriesQuery(Query, frozen=True):
    by: SeriesBy = "model"
    bucket: Bucket = "day"
    since: Line = ""


class NewTask(Body, frozen=True):
    title: Annotated[str, Meta(min_length=1, max_length=200, pattern=r"\S")]
    body: str = ""
    weight: Weight = "small"
    priority: Priority = "P2"
    executor: Line = ""
    model: Line = ""
    role: Line = "implementer"
    skill: Line = ""
    after: Annotated[tuple[Line, ...], Meta(max_length=1000)] = ()
    budget_usd: Dollars | None = None
    hold: bool = False  # it is paused at once


class Word(Body, frozen=True):
    """What a person says to the agent, or for the record."""

    text: str = ""


class Refusing(Body, frozen=True):
    text: Said


class Cancelling(Body, frozen=True):
    reason: str = ""


class Retrying(Body, frozen=True):
    budget_usd: Dollars | None = None


class Skipping(Body, frozen=True):
    phase: Line
    reason: Said


class Rewinding(Body, frozen=True):
    phase: Line
    text: str = ""


class Silent(Body, frozen=True):
    """Nothing more is to be said."""


class StartPipeline(Body, frozen=True):
    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")]
    goal: str = ""
