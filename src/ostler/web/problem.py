"""How a refusal looks over HTTP (ostler.error/1)."""

from __future__ import annotations

import html
import os
import traceback
from pathlib import Path

import msgspec
from msgspec import Struct
from starlette.responses import HTMLResponse, Response

from ostler.errors import CODES, Code, OstlerError, UsageError
from ostler.files.disk import machine_error

_ASKED_WRONGLY = (
    Code.USAGE,
    Code.PATH_ESCAPE,
    Code.SKILL_NOT_FOUND,
    Code.CONTEXT_NOT_FOUND,
    Code.INPUT_NOT_FOUND,
)
_OURS = (Code.STATE_BUSY, Code.STATE_CORRUPT, Code.STATE_VERSION, Code.STORAGE_ERROR, Code.UNKNOWN)


class ErrorView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.error/1"
    code: Code
    message: str
    hint: str


class Refused(UsageError):
    """A request that is answered with a status of its own."""

    def __init__(self, status: int, message: str, hint: str = "", code: Code = Code.USAGE) -> None:
        super().__init__(message, hint, code)
        self.status = status


def refusal(error: Exception, state: Path) -> Response:
    """The answer that stands for an error; a bug of ours goes to bugs.log."""
    told = error if isinstance(error, OstlerError) else machine_error(error) or _bug(error, state)
    return error_response(status_of(told), told)


def error_response(status: int, error: OstlerError) -> Response:
    body = ErrorView(code=error.code, message=error.message, hint=error.hint)
    return Response(msgspec.json.encode(body), status, media_type="application/json")


def page_response(status: int, error: OstlerError) -> Response:
    """The same for a person whose browser asked for a page."""
    told = "".join(
        f"<p>{html.escape(text[:1].upper() + text[1:])}.</p>" for text in (error.message, error.hint) if text
    )
    head = "<!doctype html><html lang=en><meta charset=utf-8><title>Ostler</title><h1>Ostler</h1>"
    return HTMLResponse(f"{head}{told}</html>\n", status)


def status_of(error: OstlerError) -> int:
    """400 what was asked cannot be; 409 it cannot be now; 500 the store or a bug."""
    if isinstance(error, Refused):
        return error.status
    if error.code in _ASKED_WRONGLY:
        return 400
    return 500 if error.code in _OURS or CODES[error.code].exit == 3 else 409


def _bug(error: Exception, state: Path) -> OstlerError:
    log = state / "bugs.log"
    text = "".join(traceback.format_exception(error))
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as file:
        file.write(f"serve\n{text}\n")
    return OstlerError(
        Code.UNKNOWN, f"this is a bug in Ostler ({type(error).__name__})", f"please report it with {log}"
    )
