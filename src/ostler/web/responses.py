"""Responses for errors (ostler.error/1) and for files."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

import msgspec
from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ostler.errors import CODES, Code, Origin, OstlerError, Problem, UsageError, is_host_failure
from ostler.files.disk import to_machine_error
from ostler.project.artifacts.files import open_file
from ostler.secrets.redact import redact_text

_ASKED_WRONGLY = (
    Code.USAGE,
    Code.PATH_ESCAPE,
    Code.SKILL_NOT_FOUND,
    Code.CONTEXT_NOT_FOUND,
    Code.INPUT_NOT_FOUND,
)


class ErrorView(Struct, frozen=True, kw_only=True):
    schema: str = "ostler.error/1"
    code: Code
    message: str
    hint: str
    problems: tuple[Problem, ...] | UnsetType = UNSET  # of a refusal that lists everything


class RequestError(UsageError):
    """An error with its own HTTP status."""

    def __init__(self, status: int, message: str, hint: str = "", code: Code = Code.USAGE) -> None:
        super().__init__(message, hint, code)
        self.status = status


def to_response(error: Exception, state: Path) -> Response:
    """Return the response for an error; a bug is also written to bugs.log."""
    shown = error if isinstance(error, OstlerError) else to_machine_error(error) or record_bug(error, state)
    return error_response(status_of(shown), shown)


def error_response(status: int, error: OstlerError) -> Response:
    problems = error.problems or UNSET
    body = ErrorView(code=error.code, message=error.message, hint=error.hint, problems=problems)
    return Response(msgspec.json.encode(body), status, media_type="application/json")


def status_of(error: OstlerError) -> int:
    """Return 400 for an invalid request, 409 when the state does not allow it, 500 for the store or a bug."""
    if isinstance(error, RequestError):
        return error.status
    if error.code in _ASKED_WRONGLY:
        return 400
    return 500 if CODES[error.code].origin is Origin.OURS or is_host_failure(error.code) else 409


def record_bug(error: Exception, state: Path) -> OstlerError:
    """Write a bug to bugs.log of this directory; return the error to show."""
    log = state / "bugs.log"
    text = redact_text("".join(traceback.format_exception(error)))
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a") as file:
        file.write(f"serve\n{text}\n")
    return OstlerError(
        Code.UNKNOWN, f"this is a bug in Ostler ({type(error).__name__})", f"please report it with {log}"
    )


_CHUNK = 256 * 1024
_LOOKS_BINARY = 8000  # bytes that are searched for a zero byte
SAVED_TYPE, SHOWN_TYPE = "application/octet-stream", "text/plain; charset=utf-8"


class Attachment(Struct, frozen=True):
    """A file to download; it is already open, so that it cannot be replaced."""

    file: BinaryIO
    name: str
    shown: bool = False  # as text in the browser, if it is one

    def response(self) -> Response:
        shown = self.shown and self._is_text()
        how = "inline" if shown else "attachment"
        headers = {"Content-Disposition": f"{how}; filename*=UTF-8''{quote(self.name, safe='')}"}
        return _Sending(self.file, headers, SHOWN_TYPE if shown else SAVED_TYPE)

    def _is_text(self) -> bool:
        """Return whether the beginning has no zero byte, as git does."""
        head = self.file.read(_LOOKS_BINARY)
        self.file.seek(0)
        return b"\0" not in head


class Inline(Struct, frozen=True):
    """Bytes that a browser shows itself, with a fixed type."""

    data: bytes
    media_type: str
    headers: dict[str, str] = {}

    def response(self) -> Response:
        return Response(self.data, headers=self.headers, media_type=self.media_type)


class _Sending(StreamingResponse):
    """A response that always closes its file."""

    def __init__(self, file: BinaryIO, headers: dict[str, str], media_type: str) -> None:
        super().__init__(_chunks(file), headers=headers, media_type=media_type)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


def attach(root: Path, relative: str, *, shown: bool = False) -> Attachment:
    """Return a regular file below root, which a browser may show as text; raise 404 when there is none."""
    file = open_file(root, relative)
    if file is None:
        raise _missing(relative)
    return Attachment(file, relative.rpartition("/")[2], shown)


def _missing(relative: str) -> RequestError:
    return RequestError(404, f"no file {relative[:200]}")


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk
