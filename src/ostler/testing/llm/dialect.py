"""The form of answers and failures in one provider's API."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ostler.testing.llm.limits import LimitReport, Limits, report_nothing
from ostler.testing.llm.request import Request
from ostler.testing.llm.turns import Answer, Failure

Json = dict[str, Any]


class Dialect(Struct, frozen=True):
    """One API; every function is pure."""

    name: str
    whole: Callable[[Answer, Request], Json]  # the answer without streaming
    frames: Callable[[Answer, Request], list[bytes]]  # the answer as server-sent events
    failure: Callable[[Failure], Json]  # the body of an error
    failure_frame: Callable[[Failure], bytes]  # an error inside a stream
    count: Callable[[Request], Json]  # the number of tokens of a prompt
    ping: bytes = b": ping\n\n"
    limits: Callable[[Limits, float], LimitReport] = report_nothing  # from the start of the server


def frame(data: Json | str, event: str = "") -> bytes:
    """Encode one server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


def pieces(text: str) -> list[str]:
    """Split a text into up to four parts."""
    size = max(1, -(-len(text) // 4))
    return [text[start : start + size] for start in range(0, len(text), size)]


def estimate(request: Request) -> int:
    """Estimate the tokens of a prompt: four bytes each."""
    return max(1, request.size // 4)
