"""A tool as data: its name, what a model is told of it, what it takes and gives, and what it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ostler.config.expect import unusable
from ostler.errors import UsageError
from ostler.mcp_server.answer import Answer
from ostler.project.project import Project

Effect = Literal["reads", "adds", "ends"]
"""Whether a tool only looks, writes something down, or stops what is under way."""

_WORDS = {"Object contains unknown field": "there is no", "Object missing required field": "it needs"}


class Offer(Struct, frozen=True):
    name: str
    title: str
    about: str
    takes: type[Struct]
    gives: type[Struct]
    act: Callable[[Project, Any], Answer]
    effect: Effect = "adds"
    at_hand: bool = False  # Claude Code shows it from the start, without a search for it


def read_arguments(offer: Offer, arguments: dict[str, Any]) -> Struct:
    """The arguments as the tool wants them; one sentence for those that do not fit."""
    for name, value in arguments.items():
        if reason := unusable(value):
            raise UsageError(f"{offer.name}: {name[:80]}{reason}", "leave it out")
    try:
        return msgspec.convert(arguments, offer.takes)
    except msgspec.ValidationError as error:
        takes = ", ".join(offer.takes.__struct_fields__)
        raise UsageError(f"{offer.name}: {_plain(str(error))}", f"it takes {takes}") from None


def _plain(complaint: str) -> str:
    for theirs, ours in _WORDS.items():
        complaint = complaint.replace(theirs, ours)
    return complaint
