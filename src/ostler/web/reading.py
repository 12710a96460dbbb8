"""Requests as values: parsed at the edge, every mistake told in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct
from starlette.requests import Request

from ostler.config.expect import unusable
from ostler.config.nearest import nearest
from ostler.errors import UsageError
from ostler.web.guard import BODY_LIMIT, too_large

T = TypeVar("T", bound=Struct)


def read_query(kind: type[T], given: Mapping[str, str]) -> T:
    """The part of an address behind the question mark; an empty value is one that is not given."""
    said = {name: value for name, value in given.items() if value}
    _refuse_unknown(kind, said, "parameter")
    try:
        return msgspec.convert(said, kind, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"the address has a mistake: {_plainly(error)}") from None


async def read_body(kind: type[T], request: Request) -> T:
    """The JSON of a request."""
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > BODY_LIMIT:
            raise too_large()
    return decode_body(kind, bytes(data) or b"{}")


def decode_body(kind: type[T], data: bytes) -> T:
    try:
        said: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the request is no JSON: {error}") from None
    if not isinstance(said, dict):
        raise UsageError("the request is no JSON object", '{"title": "Fix the login redirect"}')
    given = cast("dict[str, Any]", said)
    _refuse_unknown(kind, given, "field")
    for name, value in given.items():
        if reason := unusable(value):
            raise UsageError(f"the request has a mistake: {name}{reason}")
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise UsageError(f"the request has a mistake: {_plainly(error)}") from None


def _refuse_unknown(kind: type[Struct], said: Mapping[str, object], what: str) -> None:
    known = kind.__struct_encode_fields__
    for name in said:
        if name not in known:
            near = nearest(name, known)
            hint = (
                f"did you mean {near}?"
                if near
                else f"known are {', '.join(known)}"
                if known
                else "it takes none"
            )
            raise UsageError(f"unknown {what} {name[:80]!r}", hint)


def _plainly(error: Exception) -> str:
    """`limit`: Expected `int` <= 500."""
    what, _, where = str(error).partition(" - at `$.")
    return f"{where.rstrip('`')}: {what}" if where else what
