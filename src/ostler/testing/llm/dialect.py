"""What a provider's API is to the server: how an answer and a failure look in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ostler.testing.llm.request import Request
from ostler.testing.llm.turns import Answer, Failure

Json = dict[str, Any]


class Dialect(Struct, frozen=True):
    """One API; every function is pure."""

    name: str
    whole: Callable[[Answer, Request], Json]  # the answer in one piece
    frames: Callable[[Answer, Request], list[bytes]]  # and as server-sent events
    failure: Callable[[Failure], Json]  # the body of an error
    failure_frame: Callable[[Failure], bytes]  # an error inside a stream that began well
    count: Callable[[Request], Json]  # how many tokens a prompt has
    ping: bytes = b": ping\n\n"


def frame(data: Json | str, event: str = "") -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


def pieces(text: str) -> list[str]:
    """A text in up to four parts, as a model lets it trickle."""
    size = max(1, -(-len(text) // 4))
    return [text[start : start + size] for start in range(0, len(text), size)]


def estimate(request: Request) -> int:
    """Tokens of a prompt, four bytes to a token."""
    return max(1, request.size // 4)
