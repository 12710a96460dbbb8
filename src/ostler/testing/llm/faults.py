"""Faults of a provider by name: rows D1 to D12 of the fault matrix."""

from __future__ import annotations

import time
from email.utils import formatdate

from ostler.testing.llm.request import Request
from ostler.testing.llm.script import Scripted
from ostler.testing.llm.turns import Answer, Break, Failure, Flood, Silence, call, fail

_HALF = "The answer begins well enough and then"
_LIMITED = "This request would exceed your account's rate limit."
_SPENT = "You have reached your specified API usage limits: enforced_spend_limit_reached."
_TOO_LONG = "prompt is too long: 250000 tokens > 200000 maximum"
_HTML = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


def limited(retry_after: str | None) -> Failure:
    """Return a 429 with this Retry-After, or without one."""
    return fail(429, _LIMITED, retry_after=retry_after)


def _limited_until_a_date(request: Request) -> Failure:
    """429 with a Retry-After date in one hour."""
    del request
    return limited(formatdate(time.time() + 3600, usegmt=True))


def _breaking(how: Break) -> Answer:
    return Answer(say=_HALF, breaks=how)


FAULTS: dict[str, Scripted] = {
    "d1_seconds": limited("3600"),
    "d1_date": _limited_until_a_date,
    "d1_zero": limited("0"),
    "d1_negative": limited("-5"),
    "d1_ten_days": limited("864000"),
    "d1_garbage": limited("soon, I hope"),
    "d2_no_header": limited(None),
    "d2_spend_limit_429": fail(429, _SPENT),
    "d2_spend_limit_400": fail(400, _SPENT),
    "d2_credit": fail(400, "Your credit balance is too low to access the API."),
    "d2_payment": fail(402, "Payment required."),
    "d3_529": fail(529, "Overloaded"),
    "d3_503": fail(503, "Service unavailable"),
    "d3_500": fail(500, "Internal server error"),
    "d3_502_html": fail(502, html=_HTML),
    "d4_error_event": _breaking("error_event"),
    "d5_reset": _breaking("reset"),
    "d5_end": _breaking("end"),
    "d5_truncated": _breaking("truncated"),
    "d6_endless": _breaking("endless"),
    "d6_pings": _breaking("pings"),
    "d7_silence": Silence(600.0),
    "d8_401": fail(401, "invalid x-api-key"),
    "d8_403": fail(403, "Your key may not use this."),
    "d9_404": fail(404, "model: no-such-model"),
    "d10_max_tokens": Answer(say=_HALF, stop="max_tokens"),
    "d10_refusal": Answer(stop="refusal"),
    "d10_empty": Answer(),
    "d10_tool_only": call("no_such_tool"),
    "d10_unknown_block": Answer(say="Done.", blocks=({"type": "hologram", "data": "?"},)),
    "d11_413": fail(413, "Request exceeds the maximum size"),
    "d11_context": fail(400, _TOO_LONG),
    "d12_huge": Flood(1 << 30),
    "d12_bomb": Flood(1 << 30, compressed=True),
}
