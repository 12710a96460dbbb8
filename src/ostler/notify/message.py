"""What is sent on an occasion (ostler.notification/1): JSON that shows no key and no password."""

from __future__ import annotations

import hashlib
from typing import Any, cast

import msgspec
from msgspec import Struct

from ostler.clock import rfc3339
from ostler.git.secrets import hide_secrets
from ostler.notify.occasion import Occasion


class Message(Struct, frozen=True):
    """The same at every try, its id too: a receiver that knows the id can drop a double."""

    id: str
    on: str
    time: str
    project: str  # the name of its directory
    reason: str  # one sentence; empty: nothing went wrong
    next: str  # what a person can type now
    task: dict[str, Any]  # ostler.task/1, less attempts
    schema: str = "ostler.notification/1"


def encode(occasion: Occasion, store: str, target: str, project: str, task: dict[str, object]) -> bytes:
    """The body for one target."""
    message = Message(
        id=delivery_id(store, occasion.position, target),
        on=occasion.on,
        time=rfc3339(occasion.at),
        project=project,
        reason=hide_secrets(occasion.reason),
        next=occasion.next,
        task=_without_secrets(task),
    )
    return msgspec.json.encode(message)


def decode(body: bytes) -> Message:
    return msgspec.json.decode(body, type=Message)


def delivery_id(store: str, position: int, target: str) -> str:
    return hashlib.sha256(f"{store}/{position}/{target}".encode()).hexdigest()[:32]


def _without_secrets(value: Any) -> Any:
    match value:
        case str():
            return hide_secrets(value)
        case dict():
            table = cast("dict[str, Any]", value)
            return {name: _without_secrets(item) for name, item in table.items()}
        case list() | tuple():
            return [_without_secrets(item) for item in cast("list[Any]", value)]
        case _:
            return value
