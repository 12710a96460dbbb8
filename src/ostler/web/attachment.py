"""A file that a browser saves and never shows."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from msgspec import Struct
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from ostler.files.paths import open_beneath
from ostler.web.problem import Refused

_CHUNK = 256 * 1024


class Attachment(Struct, frozen=True):
    """Opened already, so that nothing can be put in its place."""

    file: BinaryIO
    name: str

    def response(self) -> Response:
        headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(self.name, safe='')}"}
        return _Sending(self.file, headers)


class _Sending(StreamingResponse):
    """Lets go of its file however it ends, also when the client hangs up."""

    def __init__(self, file: BinaryIO, headers: dict[str, str]) -> None:
        super().__init__(_chunks(file), headers=headers, media_type="application/octet-stream")
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._file:
            await super().__call__(scope, receive, send)


def attach(root: Path, relative: str) -> Attachment:
    """A plain file below root; 404 when there is none."""
    try:
        fd = open_beneath(root, relative, os.O_RDONLY)
    except OSError:
        raise _missing(relative) from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise _missing(relative)
    return Attachment(os.fdopen(fd, "rb", 0), relative.rpartition("/")[2])


def _missing(relative: str) -> Refused:
    return Refused(404, f"there is no file {relative[:200]}")


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk
