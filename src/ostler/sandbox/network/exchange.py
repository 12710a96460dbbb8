"""One request and its response between a client inside and a server outside; bodies pass as they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from ostler.sandbox.network.body import Body
from ostler.sandbox.network.head import (
    Header,
    MessageInvalid,
    RequestHead,
    ResponseHead,
    format_head,
    parse_response,
)
from ostler.sandbox.network.peer import Peer, WatchedReader
from ostler.text import describe_os_error

T = TypeVar("T")
OnPiece = Callable[[bytes], None]


class ServerFailed(Exception):
    """A server did not answer, or not in a valid form; the text is the reason."""


_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_LAST_CHUNK = b"0\r\n\r\n"


async def send_request(
    client: Peer,
    server: Peer,
    request: RequestHead,
    target: str,
    headers: Iterable[Header],
    on_piece: OnPiece,
) -> bool:
    """Send a request with its body; return False when the server stopped reading.

    Raises MessageInvalid for a body that is not valid, EOFError for one that ends early.
    """
    framing = request.framing
    lengths = _describe_length(framing.length, framing.chunked)
    head = format_head(f"{request.method} {target} HTTP/1.1", (*headers, *lengths, ("Connection", "close")))
    if request.headers.get("expect").lower() == "100-continue":
        await client.send(_CONTINUE)
    if not await _try_send(server, head):
        return False
    body = Body(client.reader, framing)
    while piece := await body.read():
        on_piece(piece)
        if not await _try_send(server, _chunk(piece) if framing.chunked else piece):
            return False
    return not framing.chunked or await _try_send(server, _LAST_CHUNK)


async def receive_response(server: Peer, method: str) -> ResponseHead:
    """Return the final head of a response; raise ServerFailed."""
    try:
        while True:
            head = parse_response(await server.read_head(), method)
            if head.status == 101:
                raise ServerFailed("the server changed the protocol, which was not requested")
            if head.status >= 200:
                return head
    except OSError as error:
        raise ServerFailed(describe_os_error(error)) from None
    except EOFError:
        raise ServerFailed("the server closed the connection without an answer") from None
    except MessageInvalid as error:
        raise ServerFailed(f"the answer is not valid: {error}") from None


async def pass_response(
    client: Peer,
    server: Peer,
    request: RequestHead,
    head: ResponseHead,
    on_piece: OnPiece,
    *,
    request_sent: bool,
) -> bool:
    """Send a response to the client; return whether the client's connection can be used again."""
    framing = head.framing
    chunked = framing.length is None and request.version == "HTTP/1.1"
    keep = request_sent and request.keeps_alive and (chunked or framing.length is not None)
    # The answer to HEAD has the length of a body that does not come.
    is_empty = framing.length == 0
    headers = head.headers.end_to_end().without(() if is_empty else ("content-length",)).items
    lengths = () if is_empty and _has_length(head) else _describe_length(framing.length, chunked)
    if head.status in (204, 304):
        lengths = ()
    connection = ("Connection", "keep-alive" if keep else "close")
    await client.send(format_head(f"HTTP/1.1 {head.status} {head.reason}", (*headers, *lengths, connection)))
    body = Body(server.reader, framing, strict=False)
    try:
        while piece := await body.read():
            on_piece(piece)
            await client.send(_chunk(piece) if chunked else piece)
    except MessageInvalid as error:
        raise ConnectionAbortedError(f"the answer is not valid: {error}") from None
    if chunked:
        await client.send(_LAST_CHUNK)
    if not request_sent:
        await client.linger()
    return keep


def ignore(piece: bytes) -> None:
    """Nothing is counted."""


async def until_gone(client: Peer, work: Coroutine[Any, Any, T]) -> T:
    """Wait for the work; end it when the client closes its connection, as no one reads the answer."""
    assert isinstance(client.reader, WatchedReader)
    task = asyncio.create_task(work)
    gone = asyncio.create_task(client.reader.ended.wait())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ConnectionResetError("the client closed the connection")
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _try_send(server: Peer, data: bytes) -> bool:
    """Return whether the server accepted the data; one that did not may have answered already."""
    try:
        await server.send(data)
    except OSError:
        return False
    return True


def _has_length(head: ResponseHead) -> bool:
    return bool(head.headers.get("content-length"))


def _describe_length(length: int | None, chunked: bool) -> tuple[Header, ...]:
    if chunked:
        return (("Transfer-Encoding", "chunked"),)
    return () if length is None else (("Content-Length", str(length)),)


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)
