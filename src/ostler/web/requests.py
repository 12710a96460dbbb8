"""The query parameters and JSON bodies of requests, and how they are decoded."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, cast

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request

from ostler.config.checks.expect import explain_invalid, find_problem, nearest
from ostler.config.settings import NotNegative, PositiveSeconds
from ostler.errors import UsageError
from ostler.model.policy.needs import Need
from ostler.model.task import PriorityName, Weight
from ostler.store.listing import Sort
from ostler.views.cost.series import Bucket, SeriesBy
from ostler.views.cost.summary import GroupBy
from ostler.views.lists.groups import Group
from ostler.web.guard import BODY_LIMIT, too_large
from ostler.web.responses import RequestError

_BODY_SECONDS = 30.0

Position = Annotated[int, Meta(ge=0, le=2**53)]
Line = Annotated[str, Meta(max_length=2000)]
Dollars = Annotated[float, Meta(gt=0, le=1e12)]


class Query(Struct, frozen=True, forbid_unknown_fields=True):
    """The query parameters of a GET."""


class Body(Struct, frozen=True, forbid_unknown_fields=True):
    """The JSON object of a POST."""


class TasksQuery(Query, frozen=True):
    group: Group | None = None
    status: Line = ""  # separated by commas
    q: Line = ""
    pipeline: Line = ""
    priority: PriorityName | None = None
    since: Line = ""  # changed since then: 2d, or a time
    archived: bool = False  # only archived tasks
    sort: Sort = "updated"
    after: Line = ""  # the `next` of the previous page
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


class ActionQuery(Query, frozen=True):
    waiting_since: Line = ""  # of the task when it was read: 409 if its status has changed since then


class InboxQuery(Query, frozen=True):
    kind: Need | None = None  # null: all kinds but the tasks that a person paused
    status: Line = ""  # separated by commas
    q: Line = ""
    pipeline: Line = ""
    priority: PriorityName | None = None
    after: Line = ""  # the `next` of the previous page of this kind
    limit: Annotated[int, Meta(ge=1, le=200)] = 50  # of each kind


class EventsQuery(Query, frozen=True):
    after: Position = 0
    task: Line = ""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 500


class StreamQuery(Query, frozen=True):
    after: Position | None = None  # null: new events only
    task: Line = ""


class LogQuery(Query, frozen=True):
    offset: Annotated[int, Meta(ge=-1, le=2**53)] = 0  # -1: the end
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200


class CostQuery(Query, frozen=True):
    by: GroupBy = "task"
    since: Line = ""


class SeriesQuery(Query, frozen=True):
    by: SeriesBy = "model"
    bucket: Bucket = "day"
    since: Line = ""


class ChangesQuery(Query, frozen=True):
    since: Position = 0  # number of a review; 0: since the base


class PatchQuery(Query, frozen=True):
    since: Position = 0
    head: Annotated[
        str,
        Meta(
            pattern=r"^[0-9a-f]{0,64}\Z",
            description="The `head` of the list of changes, for the patch of exactly that work.",
        ),
    ] = ""
    path: Annotated[str, Meta(max_length=4096)] = ""  # empty: all files


class FileQuery(Query, frozen=True):
    shown: bool = False  # a text is shown in the browser instead of saved


class DocumentQuery(Query, frozen=True):
    version: Annotated[str, Meta(pattern=r"^[0-9a-f]{0,64}\Z")] = ""  # empty: the current one


class NewTask(Body, frozen=True):
    title: Annotated[str, Meta(min_length=1, max_length=200, pattern=r"\S")]
    body: str = ""
    weight: Weight = "small"
    priority: PriorityName = "P2"
    executor: Line = ""
    model: Line = ""
    role: Line = "implementer"
    skill: Line = ""
    after: Annotated[tuple[Line, ...], Meta(max_length=1000)] = ()
    order_only: bool = False  # start from the target, not from the work of the tasks in `after`
    budget_usd: Dollars | None = None
    timeout_seconds: PositiveSeconds | None = None  # of one attempt
    max_retries: NotNegative | None = None  # on one model
    label: Line = ""  # only workers with this label run it
    hold: bool = False  # pause it at once


class EmptyBody(Body, frozen=True):
    """A POST without parameters."""


class StartPipeline(Body, frozen=True):
    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")]
    goal: str = ""


T = TypeVar("T", bound=Struct)


def read_query(kind: type[T], values: Mapping[str, str]) -> T:
    """Return the query parameters; an empty value counts as missing."""
    nonempty = {name: value for name, value in values.items() if value}
    _reject_unknown(kind, nonempty, "parameter")
    try:
        return msgspec.convert(nonempty, kind, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"invalid query: {_plain_message(error)}") from None


async def read_body(kind: type[T], request: Request) -> T:
    """Return the JSON body of a request."""
    data = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.stream():
                data += chunk
                if len(data) > BODY_LIMIT:
                    raise too_large()
    except TimeoutError:
        raise RequestError(408, f"the body took longer than {_BODY_SECONDS:.0f} s", "send it again") from None
    return decode_body(kind, bytes(data) or b"{}")


def decode_body(kind: type[T], data: bytes) -> T:
    try:
        decoded: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the body is not valid JSON: {error}") from None
    if not isinstance(decoded, dict):
        raise UsageError(
            "the body is not a JSON object", 'send for example {"title": "Fix the login redirect"}'
        )
    values = cast("dict[str, Any]", decoded)
    _reject_unknown(kind, values, "field")
    for name, value in values.items():
        if reason := find_problem(value):
            raise UsageError(f"invalid body: {name}{reason}")
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"invalid body: {_plain_message(error)}") from None


def _reject_unknown(kind: type[Struct], values: Mapping[str, object], what: str) -> None:
    known = kind.__struct_encode_fields__
    for name in values:
        if name not in known:
            near = nearest(name, known)
            hint = (
                f"did you mean {near}?"
                if near
                else f"use one of {', '.join(known)}"
                if known
                else "none is allowed"
            )
            raise UsageError(f"unknown {what} {name[:80]!r}", hint)


def _plain_message(error: msgspec.ValidationError) -> str:
    """Return the message as `limit: Expected int <= 500`."""
    name, reason = explain_invalid(error)
    return f"{name}: {reason}" if name else reason
