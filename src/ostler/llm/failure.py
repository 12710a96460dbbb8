"""Maps the errors of providers to codes."""

from __future__ import annotations

import re
import time
from email.utils import formatdate, parsedate_to_datetime

import msgspec
from msgspec import Struct

from ostler.clock import Now
from ostler.errors import Code, OstlerError, is_invalid_request
from ostler.model.limits.names import is_counted
from ostler.model.limits.numbers import read_number, read_time
from ostler.model.limits.window import ReportedWindow
from ostler.model.usage import Usage
from ostler.text import one_line

_MAX_WAIT_SECONDS = 30 * 86400.0
_MIN_SECRET = 12

# A spend limit comes as 400 or 429, a prompt that is too long as 400: the text is stronger evidence.
_TEXTS = {
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
    "usage_limit_reached": Code.QUOTA_EXCEEDED,
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
_STREAMED, _SERVER_ERROR = 200, 500
_SERVER_ERRORS = frozenset({"api_error", "server_error", "internal_server_error"})
_HINTS = {
    Code.AUTH_FAILED: "check the key",
    Code.BILLING: "add credit to the account, or raise its limit",
    Code.MODEL_NOT_FOUND: "choose another model with run.model or --model",
    Code.PROMPT_TOO_LARGE: "make the task smaller, or choose a model with a larger context",
    Code.NETWORK: "check the address and the network",
}


class ModelError(OstlerError):
    """A model API gave no valid answer; `partial` and `usage` hold what was received."""

    def __init__(self, code: Code, message: str, retry_after_seconds: float | None = None) -> None:
        super().__init__(code, message, _HINTS.get(code, ""))
        self.retry_after_seconds = retry_after_seconds
        self.status = 0  # of the rejection; 0: there was none
        self.final = code is Code.RESPONSE_EMPTY  # the same request would fail again
        self.partial = ""
        self.usage = Usage()
        self.windows: tuple[ReportedWindow, ...] = ()  # limits of the account


class Rejection(Struct, frozen=True):
    """An error as the provider reported it."""

    status: int
    message: str = ""
    kinds: tuple[str, ...] = ()  # its names of the error
    retry_after: str | None = None  # the value of the header, or that of the body in the same form
    windows: tuple[ReportedWindow, ...] = ()  # of the account, from the headers


class _Error(Struct, frozen=True):
    type: str | None = None
    code: str | int | None = None
    message: str | None = None
    resets_in_seconds: object = None
    resets_at: object = None  # Unix time

    def find_retry_after(self, now: float) -> str | None:
        """The delay as the header has it: seconds, or a date."""
        seconds = _read(self.resets_in_seconds)
        if seconds is not None:
            return f"{seconds:.3f}"
        reset = read_time(_read(self.resets_at), now)
        return None if reset is None else formatdate(reset, usegmt=True)


def _read(value: object) -> float | None:
    return read_number(value) if isinstance(value, int | float) else None


class _Body(Struct, frozen=True):
    error: _Error


def read_rejection(
    status: int,
    body: bytes,
    retry_after: str | None = None,
    windows: tuple[ReportedWindow, ...] = (),
    now: Now = time.time,
) -> Rejection:
    """Return the error of a response; a body that is not the usual JSON is the message."""
    try:
        error = msgspec.json.decode(body, type=_Body).error
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Rejection(status, _plain(body), (), retry_after, windows)
    # Within a stream the status of the response is 200; some gateways send the real one as the error's code.
    status = error.code if isinstance(error.code, int) and status == 200 else status
    kinds = tuple(name for name in (error.type, error.code) if isinstance(name, str))
    return Rejection(
        status, error.message or "", kinds, retry_after or error.find_retry_after(now()), windows
    )


def make_error(rejection: Rejection, host: str, now: Now = time.time) -> ModelError:
    """Return the error to raise for a rejection by this host."""
    reason = f": {one_line(rejection.message)}" if rejection.message.strip() else ""
    how = "aborted its answer" if rejection.status == 200 else f"answered {rejection.status}"
    error = ModelError(
        classify_rejection(rejection), f"{host} {how}{reason}", parse_retry_after(rejection.retry_after, now)
    )
    error.status = _find_status(rejection)
    error.final = error.final or is_invalid_request(error.code, error.status)
    error.windows = rejection.windows
    return error


def _find_status(rejection: Rejection) -> int:
    """Return the status; an error of the server within a stream has that of a rejection."""
    is_late = rejection.status == _STREAMED and any(kind in _SERVER_ERRORS for kind in rejection.kinds)
    return _SERVER_ERROR if is_late else rejection.status


def classify_rejection(rejection: Rejection) -> Code:
    """Return the code: by a rejecting window, the text, the name of the error, then the status."""
    if any(one.status == "rejected" and not is_counted(one.name) for one in rejection.windows):
        return Code.QUOTA_EXCEEDED
    text = " ".join((*rejection.kinds, rejection.message))
    for pattern, code in _TEXTS.items():
        if re.search(pattern, text, re.IGNORECASE):
            return code
    kind = next((_KINDS[kind] for kind in rejection.kinds if kind in _KINDS), None)
    return kind or _STATUS.get(rejection.status, Code.API_ERROR)


def parse_retry_after(header: str | None, now: Now) -> float | None:
    """Return the seconds of a Retry-After header, which is a number or a date; None for any other value."""
    text = (header or "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        return min(float(text), _MAX_WAIT_SECONDS)
    try:
        until = parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, until - now()), _MAX_WAIT_SECONDS)


def redact(secret: str, data: bytes) -> bytes:
    """Return the data without the secret; a short key, such as "none" for a local server, is not one."""
    return data.replace(secret.encode(), b"(key)") if len(secret) >= _MIN_SECRET else data


def _plain(body: bytes) -> str:
    text = body.decode("utf-8", "replace").strip()
    return "an HTML page" if text.startswith("<") else text
