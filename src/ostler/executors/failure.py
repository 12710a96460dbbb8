"""Which code the words of a failed agent stand for: tables, strongest evidence first."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ostler.errors import Code

Words = Mapping[str, Code]
"""Patterns, and what each stands for; the first that is found decides."""

STATUSES: dict[int, Code] = {
    401: Code.AUTH_FAILED,
    402: Code.BILLING,
    403: Code.AUTH_FAILED,
    404: Code.MODEL_NOT_FOUND,
    408: Code.TIMEOUT,
    413: Code.PROMPT_TOO_LARGE,
    429: Code.RATE_LIMITED,
    503: Code.OVERLOADED,
    529: Code.OVERLOADED,
}

# A used-up account comes as 400, 403 or 429: these words are stronger than a status.
_STRONG: Words = {
    r"insufficient_quota|quota exceeded|exceeded your current quota": Code.QUOTA_EXCEEDED,
    r"spend(ing)?[ _]limit": Code.BILLING,
    r"hit your (\w+ )?limit|usage limit|limit will reset": Code.QUOTA_EXCEEDED,
    r"credit balance|credits? (is|are|was|were)? ?exhausted|payment required": Code.BILLING,
    r"insufficient (funds|credits|balance)|billing.{0,20}not.{0,20}enabled": Code.BILLING,
    r"(exceed|maximum|too long|out of room).{0,60}context.?(length|window)": Code.PROMPT_TOO_LARGE,
    r"context.?(length|window).{0,60}(exceed|too|full)": Code.PROMPT_TOO_LARGE,
    r"(prompt|input) is too long|too many tokens": Code.PROMPT_TOO_LARGE,
    r"max_output_tokens|output token (limit|maximum)": Code.OUTPUT_LIMIT,
}
_WEAK: Words = {
    r"rate.?limit|too many requests|resource_exhausted": Code.RATE_LIMITED,
    r"overloaded|at capacity|high demand": Code.OVERLOADED,
    r"(invalid|missing|incorrect|bad).{0,20}(api.?key|credentials)|unauthori[sz]ed": Code.AUTH_FAILED,
    r"not (logged in|authenticated)|please (log ?in|sign in)": Code.AUTH_FAILED,
    r"authentication.{0,3}(error|failed|required|failure)|failed to authenticate": Code.AUTH_FAILED,
    r"model.{0,60}(not found|does not exist|not supported|unknown)|unknown model": Code.MODEL_NOT_FOUND,
    r"stream (closed|ended|disconnected)|premature close|terminated early": Code.STREAM_BROKEN,
    r"econn|enotfound|etimedout|eai_again|fetch failed|connection (refused|reset|error)": Code.NETWORK,
    r"(request|connection|operation) timed out|error sending request|socket hang up": Code.NETWORK,
    r"content.?(filter|policy)|usage policy|refus(al|ed to answer)": Code.REFUSED,
    r"(blocked|flagged|stopped|finish).{0,40}safety|safety.{0,3}(filter|reason|setting)": Code.REFUSED,
    r"(unknown|unexpected|unrecogni[sz]ed) (option|argument|flag)": Code.AGENT_INCOMPATIBLE,
}
_PROVIDER_FAILED = re.compile(
    r"internal server error|server_error|api[_ ]?error|bad gateway|bad request|invalid_request", re.IGNORECASE
)
_STATUS = re.compile(
    r"\b(?:status|http(?:/[\d.]+)?|error|code)\b\W{0,3}(?:code\W{0,3})?(\d{3})\b|\((\d{3})\)|^(\d{3})\b",
    re.IGNORECASE,
)
_TAIL = 4000

_AGAIN = re.compile(
    r"(?:try again|retry|reset)\w*(?: after| in|:)? *((?:\d+(?:\.\d+)? *[a-z]+[ ,and]*)+)", re.IGNORECASE
)
_PART = re.compile(r"(\d+(?:\.\d+)?) *([a-z]+)", re.IGNORECASE)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def code_of_failure(text: str, status: int | None = None, own: Words | None = None) -> Code | None:
    """The agent's own words first, then what every provider says; None when nothing is known."""
    text = text[-_TAIL:]
    return (
        _first(own or {}, text)
        or _first(_STRONG, text)
        or _code_of_status(status or _status_in(text))
        or _first(_WEAK, text)
        or (Code.API_ERROR if _PROVIDER_FAILED.search(text) else None)
    )


def retry_after(text: str) -> float | None:
    """How long the provider asks to wait, where the text says so: `try again in 2 hours 5 minutes`."""
    found = _AGAIN.search(text)
    parts = _PART.findall(found[1]) if found else []
    known = [float(number) * _UNITS[unit] for number, word in parts if (unit := _unit(word)) in _UNITS]
    return sum(known) if known else None


def _unit(word: str) -> str:
    word = word.lower()
    return word if word == "ms" else "ms" if word.startswith("milli") else word[0]


def _first(words: Words, text: str) -> Code | None:
    return next((code for pattern, code in words.items() if re.search(pattern, text, re.IGNORECASE)), None)


def _status_in(text: str) -> int | None:
    found = _STATUS.search(text)
    return int(found[1] or found[2] or found[3]) if found else None


def _code_of_status(status: int | None) -> Code | None:
    if status is None or not 400 <= status < 600:
        return None
    return STATUSES.get(status, Code.API_ERROR)
