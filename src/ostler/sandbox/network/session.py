"""The requests of one connection to the proxy, one after the other."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec.structs import replace

from ostler.config.host import LOCALHOST, format_authority
from ostler.sandbox.network.answers import answer_empty, answer_text
from ostler.sandbox.network.body import Body
from ostler.sandbox.network.forward import ESTABLISHED, Forwarder
from ostler.sandbox.network.head import MessageInvalid, RequestHead, parse_request
from ostler.sandbox.network.model_gateway import ModelGateway
from ostler.sandbox.network.peer import Peer
from ostler.sandbox.network.policy import PROXY_PORT, Timeouts
from ostler.sandbox.network.refusals import Refusals, ReportedRefusal

_RESERVED = "/.ostler/"
_REFUSAL_PATH = "/.ostler/refusal"
_MAX_REPORT_BYTES = 4096
# Programs that ignore NO_PROXY ask the proxy for itself.
_OWN_AUTHORITIES = tuple(format_authority(host, PROXY_PORT) for host in ("127.0.0.1", LOCALHOST, "::1"))


class Session:
    """Answers the requests of programs inside."""

    def __init__(
        self, forwarder: Forwarder, model: ModelGateway | None, refusals: Refusals, timeouts: Timeouts
    ) -> None:
        self._forwarder = forwarder
        self._model = model
        self._refusals = refusals
        self._timeouts = timeouts

    async def serve(self, client: Peer) -> None:
        """Answer requests until the client closes, or a request is not valid."""
        request = None
        try:
            while (request := await self._read_request(client)) is not None:
                if not await self._dispatch(client, request):
                    return
        except MessageInvalid as error:
            await answer_text(client, None, 400, f"the proxy of the sandbox refused a message: {error}")
        except TimeoutError:
            await answer_text(client, None, 408, "the request did not arrive in time")

    async def _read_request(self, client: Peer) -> RequestHead | None:
        try:
            async with asyncio.timeout(self._timeouts.idle_seconds):
                first = await client.reader.read(1)
        except TimeoutError:
            return None
        if not first:
            return None
        async with asyncio.timeout(self._timeouts.head_seconds):
            return parse_request(await client.read_head(first))

    async def _dispatch(self, client: Peer, request: RequestHead) -> bool:
        if request.method == "CONNECT":
            if request.target in _OWN_AUTHORITIES:
                await client.send(ESTABLISHED)
                return True
            return await self._forwarder.tunnel(client, request)
        request = _to_origin_form(request)
        if not request.target.startswith("/"):
            return await self._forwarder.forward(client, request)
        if request.target.startswith(_RESERVED):
            return await self._receive_report(client, request)
        if self._model is None:
            text = "this is the proxy of the sandbox, and no model has its API here"
            return await answer_text(client, request, 404, text)
        return await self._model.handle(client, request)

    async def _receive_report(self, client: Peer, request: RequestHead) -> bool:
        if request.method != "POST" or request.target != _REFUSAL_PATH:
            return await answer_text(client, request, 404, f"only POST {_REFUSAL_PATH} is here")
        report = await self._read_report(client, request)
        if report is None or not self._refusals.accept_report(report):
            return await answer_text(client, None, 400, "the report is not valid")
        return await answer_empty(client, request.without_body())

    async def _read_report(self, client: Peer, request: RequestHead) -> ReportedRefusal | None:
        text, body = b"", Body(client.reader, request.framing)
        async with asyncio.timeout(self._timeouts.head_seconds):
            while piece := await body.read():
                text += piece
                if len(text) > _MAX_REPORT_BYTES:
                    return None
        try:
            return msgspec.json.decode(text, type=ReportedRefusal)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None


def _to_origin_form(request: RequestHead) -> RequestHead:
    """Return a request to the proxy itself as one without its host."""
    for authority in _OWN_AUTHORITIES:
        start = f"http://{authority}/"
        if request.target.startswith(start):
            return replace(request, target=request.target[len(start) - 1 :])
    return request
