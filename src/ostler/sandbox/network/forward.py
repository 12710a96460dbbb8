"""Connections to allowed hosts: CONNECT for tunnels, and plain HTTP requests with a whole URL."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ostler.sandbox.network.answers import answer_text
from ostler.sandbox.network.connect import Connector, describe_failure
from ostler.sandbox.network.exchange import (
    ServerFailed,
    ignore,
    pass_response,
    receive_response,
    send_request,
    until_gone,
)
from ostler.sandbox.network.head import Header, RequestHead
from ostler.sandbox.network.peer import Peer
from ostler.sandbox.network.refusals import Refusals, explain
from ostler.sandbox.network.relay import relay
from ostler.sandbox.network.rules import HostRules, Refused, Target

_URL = re.compile(r"http://([^/?#\\]*)([/?][^#\\]*)?\Z", re.IGNORECASE)
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Forwarder:
    """Connects the programs of one sandbox to the hosts that its policy allows."""

    def __init__(self, rules: HostRules, connector: Connector, refusals: Refusals) -> None:
        self._rules = rules
        self._connector = connector
        self._refusals = refusals

    async def tunnel(self, client: Peer, request: RequestHead) -> bool:
        """Answer CONNECT and copy bytes until both sides ended."""
        try:
            target = self._rules.check(request.target)
            server = await self._connector.open_tunnel(target, self._connector.find_proxy("https", target))
        except Refused as refused:
            return await self._refuse(client, None, refused)
        except OSError as error:
            return await answer_text(client, None, 502, describe_failure(request.target, error))
        try:
            await client.send(ESTABLISHED)
            await relay(client, server)
            await server.finish()
        finally:
            await server.abort()
        return False

    async def forward(self, client: Peer, request: RequestHead) -> bool:
        """Answer a request with a whole URL; return whether the connection can be used again."""
        found = _URL.match(request.target)
        if found is None:
            text = "the proxy of the sandbox accepts URLs of http and CONNECT"
            return await answer_text(client, None, 400, text)
        authority, rest = found[1], found[2] or "/"
        path = rest if rest.startswith("/") else f"/{rest}"
        try:
            target = self._rules.check(authority, 80)
        except Refused as refused:
            return await self._refuse(client, request, refused)
        return await until_gone(client, self._exchange(client, request, target, authority, path))

    async def _exchange(
        self, client: Peer, request: RequestHead, target: Target, authority: str, path: str
    ) -> bool:
        try:
            via = self._connector.find_proxy("http", target)
            server = await self._connector.open(target, via)
        except Refused as refused:
            return await self._refuse(client, request, refused)
        except OSError as error:
            return await answer_text(client, request, 502, describe_failure(authority, error))
        headers = (*_rewrite_headers(request, authority), *(via.headers if via else ()))
        url = f"http://{authority}{path}" if via else path
        try:
            return await self._pass(client, server, request, url, headers)
        except ServerFailed as error:
            return await answer_text(client, None, 502, describe_failure(authority, error))
        finally:
            await server.abort()  # the answer is complete, or no one reads it

    async def _pass(
        self, client: Peer, server: Peer, request: RequestHead, url: str, headers: Iterable[Header]
    ) -> bool:
        sent = await send_request(client, server, request, url, headers, ignore)
        head = await receive_response(server, request.method)
        return await pass_response(client, server, request, head, ignore, request_sent=sent)

    async def _refuse(self, client: Peer, request: RequestHead | None, refused: Refused) -> bool:
        self._refusals.record(refused.refusal)
        return await answer_text(client, request, 403, explain(refused))


def _rewrite_headers(request: RequestHead, authority: str) -> tuple[Header, ...]:
    kept = request.headers.end_to_end().without(("host", "content-length", "expect")).items
    return (("Host", authority), *kept)
