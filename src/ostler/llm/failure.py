"""What a provider says instead of an answer, as one of our codes."""

from __future__ import annotations

import re
import time
from email.utils import parsedate_to_datetime

import msgspec
from msgspec import Struct

from ostler.clock import Now
from ostler.errors import Code, OstlerError
from ostler.model.usage import Usage

_LONGEST_WAIT_SECONDS = 30 * 86400.0
_LONGEST_MESSAGE = 300
_SHORTEST_SECRET = 12

# A spend limit comes as 400 or 429, too long a prompt as 400: their words are stronger than the status.
_WORDS = {
    r"credit balance|spend(ing)?[ _]limit|specified api usage limits": Code.BILLING,
    r"insufficient_quota|billing": Code.BILLING,
    r"prompt is too long|context[ _]length|context window|input is too long": Code.PROMPT_TOO_LARGE,
}
_KINDS = {
    "authentication_error": Code.AUTH_FAILED,
    "invalid_api_key": Code.AUTH_FAILED,
    "permission_error": Code.AUTH_FAILED,
    "model_not_found": Code.MODEL_NOT_FOUND,
    "not_found_error": Code.MODEL_NOT_FOUND,
    "overloaded_error": Code.OVERLOADED,
    "rate_limit_error": Code.RATE_LIMITED,
    "rate_limit_exceeded": Code.RATE_LIMITED,
    "request_too_large": Code.PROMPT_TOO_LARGE,
    "timeout_error": Code.TIMEOUT,
}
_STATUS = {
    401: Code.AUTH_FAILED,
    402: Code.BILLING,
    403: Code.AUTH_FAILED,
    404: Code.MODEL_NOT_FOUND,
    407: Code.NETWORK,
    408: Code.TIMEOUT,
    413: Code.PROMPT_TOO_LARGE,
    429: Code.RATE_LIMITED,
    529: Code.OVERLOADED,
}
_HINTS = {
    Code.AUTH_FAILED: "check the key",
    Code.BILLING: "pay for the account, or raise its limit",
    Code.MODEL_NOT_FOUND: "choose another model with run.model or --model",
    Code.PROMPT_TOO_LARGE: "make the task smaller, or choose a model that takes more",
    Code.NETWORK: "check the address and the network",
}


class ModelError(OstlerError):
    """A model API gave no usable answer; what had come of it until then is kept here."""

    def __init__(self, code: Code, message: str, retry_after_seconds: float | None = None) -> None:
        super().__init__(code, message, _HINTS.get(code, ""))
        self.retry_after_seconds = retry_after_seconds
        self.partial = ""
        self.usage = Usage()


class Rejection(Struct, frozen=True):
    """An error as the provider worded it."""

    status: int
    message: str = ""
    kinds: tuple[str, ...] = ()  # its words for the kind of error
    retry_after: str | None = None  # the header, word for word


class _Error(Struct, frozen=True):
    type: str | None = None
    code: str | int | None = None
    message: str | None = None


class _Body(Struct, frozen=True):
    error: _Error


def read_rejection(status: int, body: bytes, retry_after: str | None = None) -> Rejection:
    """What an error response says; a body that is not the usual JSON is its own message."""
    try:
        error = msgspec.json.decode(body, type=_Body).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Rejection(status, _plain(body), (), retry_after)
    # Inside a stream the response said 200; some gateways give the status as the error's code.
    status = error.code if isinstance(error.code, int) and status == 200 else status
    kinds = tuple(word for word in (error.type, error.code) if isinstance(word, str))
    return Rejection(status, error.message or "", kinds, retry_after)


def failure_of(rejection: Rejection, host: str, now: Now = time.time) -> ModelError:
    """The error to raise for a rejection by this host."""
    said = f": {one_line(rejection.message)}" if rejection.message.strip() else ""
    how = "broke off its answer" if rejection.status == 200 else f"answered {rejection.status}"
    return ModelError(code_of(rejection), f"{host} {how}{said}", read_retry_after(rejection.retry_after, now))


def code_of(rejection: Rejection) -> Code:
    """The strongest evidence decides: words, then the kind of error, then the status."""
    said = " ".join((*rejection.kinds, rejection.message))
    for pattern, code in _WORDS.items():
        if re.search(pattern, said, re.IGNORECASE):
            return code
    kind = next((_KINDS[kind] for kind in rejection.kinds if kind in _KINDS), None)
    return kind or _STATUS.get(rejection.status, Code.API_ERROR)


def read_retry_after(header: str | None, now: Now) -> float | None:
    """The seconds that a Retry-After header asks for, as a number or a date; None for anything else."""
    text = (header or "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        return min(float(text), _LONGEST_WAIT_SECONDS)
    try:
        until = parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, until - now()), _LONGEST_WAIT_SECONDS)


def hide(secret: str, data: bytes) -> bytes:
    """The data without the secret; a word like "none", which local servers take for a key, is no secret."""
    return data.replace(secret.encode(), b"(key)") if len(secret) >= _SHORTEST_SECRET else data


def one_line(text: str) -> str:
    """A provider's words, short enough for a sentence of ours."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_MESSAGE else line[: _LONGEST_MESSAGE - 1] + "…"


def _plain(body: bytes) -> str:
    text = body.decode("utf-8", "replace").strip()
    return "an HTML page" if text.startswith("<") else text
