"""The proxy's own answers."""

from __future__ import annotations

import asyncio
import re

import msgspec

from ostler.sandbox.network.body import Body
from ostler.sandbox.network.head import MessageInvalid, RequestHead, format_head
from ostler.sandbox.network.peer import Peer

_MAX_DISCARDED = 32 << 20
_DISCARD_SECONDS = 10.0
_REASONS = {
    204: "No Content",
    400: "Bad Request",
    401: "Unauthorized",
    402: "Payment Required",
    403: "Refused by the sandbox",
    404: "Not Found",
    408: "Request Timeout",
    502: "Bad Gateway",
}


async def answer_text(client: Peer, request: RequestHead | None, status: int, text: str) -> bool:
    """Answer with one sentence; return whether the connection can be used again."""
    return await _answer(client, request, status, f"{text}.\n".encode(), "text/plain; charset=utf-8", text)


async def answer_error(client: Peer, request: RequestHead, status: int, kind: str, text: str) -> bool:
    """Answer with an error in the form that clients of model APIs read."""
    body = {"type": "error", "error": {"type": kind, "message": text}}
    return await _answer(client, request, status, msgspec.json.encode(body), "application/json")


async def answer_empty(client: Peer, request: RequestHead) -> bool:
    """Answer that the request was accepted."""
    return await _answer(client, request, 204, b"", "")


async def _answer(
    client: Peer, request: RequestHead | None, status: int, body: bytes, kind: str, text: str = ""
) -> bool:
    keep = request is not None and request.keeps_alive and await _discard(client, request)
    # Programs show the reason of a refused CONNECT and never its body.
    reason = f"{_REASONS[403]}: {_one_line(text)}" if status == 403 and text else _REASONS[status]
    headers = [("Connection", "keep-alive" if keep else "close")]
    if status != 204:
        headers += [("Content-Type", kind), ("Content-Length", str(len(body)))]
    shown = b"" if request is not None and request.method == "HEAD" else body
    await client.send(format_head(f"HTTP/1.1 {status} {reason}", headers) + shown)
    if not keep:
        await client.linger()
    return keep


def _one_line(text: str) -> str:
    return re.sub(r"[^\x20-\x7e]", "?", text)[:300]


async def _discard(client: Peer, request: RequestHead) -> bool:
    """Read the rest of a request; return whether it was read to its end."""
    if request.headers.get("expect"):
        return False  # the body comes only if we ask for it
    count, body = 0, Body(client.reader, request.framing)
    try:
        async with asyncio.timeout(_DISCARD_SECONDS):
            while piece := await body.read():
                count += len(piece)
                if count > _MAX_DISCARDED:
                    return False
    except (TimeoutError, MessageInvalid):
        return False
    return True
