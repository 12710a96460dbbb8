"""A notification (ostler.notification/1), with secrets removed, and the target that receives it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from ostler.clock import format_rfc3339
from ostler.config.settings import NotifySettings
from ostler.model.status import TaskStatus
from ostler.notify.occasion import LimitDetails, Occasion
from ostler.secrets.redact import redact_text, redact_value
from ostler.views.next_step import advise, situation_in


class Message(Struct, frozen=True):
    """The same for every attempt, including the id, so that receivers can drop duplicates."""

    id: str
    on: str
    time: str
    project: str  # name of its directory
    reason: str  # empty: nothing failed
    next: str  # commands to type
    task: dict[str, Any]  # ostler.task/1 without attempts
    limit: LimitDetails | None = None  # of limited and back
    schema: str = "ostler.notification/1"


def encode(occasion: Occasion, store: str, target: str, project: str, task: dict[str, object]) -> bytes:
    """Return the body for one target."""
    message = Message(
        id=delivery_id(store, occasion.position, target),
        on=occasion.on,
        time=format_rfc3339(occasion.at),
        project=project,
        reason=redact_text(_add_waiting(occasion)),
        next=_find_next_step(occasion, task),
        task=redact_value(task),
        limit=occasion.limit,
    )
    return msgspec.json.encode(message)


def _add_waiting(occasion: Occasion) -> str:
    """Return the reason of a message, with the number of tasks that wait for the same account."""
    waiting = occasion.limit.waiting if occasion.limit else 0
    if not waiting:
        return occasion.reason
    return f"{occasion.reason}; {waiting} task{' waits' if waiting == 1 else 's wait'}"


def _find_next_step(occasion: Occasion, task: Mapping[str, object]) -> str:
    """Return the same advice as every other interface, unless the task has changed since the event."""
    situation = situation_in(task)
    is_same = situation.status is occasion.status or (
        occasion.status is TaskStatus.FAILED and situation.status is TaskStatus.QUARANTINED
    )
    return advise(situation).text if is_same else occasion.next


def decode(body: bytes) -> Message:
    return msgspec.json.decode(body, type=Message)


def delivery_id(store: str, position: int, target: str) -> str:
    return hashlib.sha256(f"{store}/{position}/{target}".encode()).hexdigest()[:32]


class NotDelivered(Exception):
    """The target did not accept the message; the text is a short reason without secrets."""


class TargetMisconfigured(NotDelivered):
    """The target accepts nothing until a person fixes its configuration; retry late."""


class Target(Protocol):
    """One way to deliver; cancelling it ends it at once."""

    async def deliver(self, message: Message, body: bytes) -> None:
        """Return when the target has taken it. Raises NotDelivered otherwise."""
        ...


def target_id(entry: NotifySettings) -> str:
    """Return an id made from the address only, so that other settings can change."""
    text = "\0".join((entry.url, *entry.command))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def display_name(entry: NotifySettings) -> str:
    """Return the program, or the host of the URL; the rest of it may contain a key."""
    return entry.command[0] if entry.command else entry.url.split("/")[2].rpartition("@")[2]
