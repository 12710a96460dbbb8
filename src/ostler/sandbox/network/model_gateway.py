"""The API of the agent's model: only model calls pass, with the real credentials, and their tokens count."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from ostler.config.host import format_authority
from ostler.errors import OstlerError
from ostler.model.policy.sandbox import Refusal
from ostler.sandbox.network.answers import answer_error, answer_text
from ostler.sandbox.network.connect import Connector, describe_failure
from ostler.sandbox.network.exchange import (
    ServerFailed,
    pass_response,
    receive_response,
    send_request,
    until_gone,
)
from ostler.sandbox.network.head import Header, RequestHead, ResponseHead, is_header_value
from ostler.sandbox.network.meter import ByteCount, TokenMeter, can_count
from ostler.sandbox.network.model_path import (
    is_plain_path,
    is_plain_query,
    matches_path,
    remove_credentials,
)
from ostler.sandbox.network.peer import Peer
from ostler.sandbox.network.policy import CheckUsage, ModelRoute
from ostler.sandbox.network.refusals import Refusals, explain
from ostler.sandbox.network.rules import Refused

_CREDENTIALS = (
    "authorization",
    "x-api-key",
    "x-goog-api-key",
    "api-key",
    "cookie",
)
_REPLACED = ("host", "content-length", "accept-encoding", "expect", "forwarded", "via")
_METHODS = ("GET", "HEAD", "POST")  # others change or delete what the account has
_OTHER_METHODS = ("x-http-method-override", "x-http-method", "x-method-override")  # honoured by some servers
_BUDGET = "budget.task_usd"
_PROBES = ("HEAD", "OPTIONS")  # some agents look whether the server is there


class ModelGateway:
    """Sends the model calls of one sandbox to the API; the address is one that a person configured."""

    def __init__(
        self, route: ModelRoute, connector: Connector, refusals: Refusals, check_usage: CheckUsage
    ) -> None:
        parts = urlsplit(route.upstream)
        self._route = route
        self._tls = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._tls else 80)
        self._prefix = parts.path.rstrip("/")
        self._connector = connector
        self._refusals = refusals
        self._check_usage = check_usage
        self._exhausted = ""  # why no further call is allowed

    async def handle(self, client: Peer, request: RequestHead) -> bool:
        """Answer one request; return whether the connection can be used again."""
        path, _, query = request.target.partition("?")
        if not is_plain_path(path) or not is_plain_query(query):
            if path == "/" and request.method in _PROBES:
                return await answer_text(client, request, 404, "the sandbox allows only model calls here")
            return await self._refuse_path(client, request, path)
        if request.method not in _METHODS or not matches_path(path, self._route.paths):
            return await self._refuse_path(client, request, path)
        if self._exhausted:
            return await self._refuse_call(client, request)
        clean = remove_credentials(query)
        target = f"{self._prefix}{path}?{clean}" if clean else f"{self._prefix}{path}"
        return await until_gone(client, self._call(client, request, target))

    async def _refuse_path(self, client: Peer, request: RequestHead, path: str) -> bool:
        refused = Refused(Refusal("network", f"{self._host}{path[:200]}"), "it is not a model call")
        self._refusals.record(refused.refusal)
        return await answer_text(client, request, 403, explain(refused))

    async def _refuse_call(self, client: Peer, request: RequestHead) -> bool:
        self._refusals.record(Refusal("network", "the model", _BUDGET))
        return await answer_error(client, request, 402, "billing_error", self._exhausted)

    async def _call(self, client: Peer, request: RequestHead, target: str) -> bool:
        try:
            # In a thread: the agent's own program may have to renew a login first.
            headers = self._replace_headers(request, await asyncio.to_thread(self._route.read_headers))
            server, via = await self._connector.open_model(self._host, self._port, tls=self._tls)
        except OstlerError as error:
            return await answer_error(client, request, 401, "authentication_error", error.message)
        except OSError as error:
            return await self._fail(client, request, error)
        if via is not None:
            target, headers = f"http://{self._authority}{target}", (*headers, *via.headers)
        try:
            return await self._exchange(client, server, request, target, headers)
        finally:
            await server.abort()  # the answer is complete, or no one reads it

    async def _exchange(
        self, client: Peer, server: Peer, request: RequestHead, target: str, headers: Iterable[Header]
    ) -> bool:
        asked = ByteCount()
        sent = await send_request(client, server, request, target, headers, asked.add)
        try:
            head = await receive_response(server, request.method)
            if self._route.wire and not can_count(head.headers):
                raise ServerFailed("its answer has an encoding that was not requested")
        except ServerFailed as error:
            return await self._fail(client, request.without_body() if sent else None, error)
        meter = TokenMeter(self._route.wire, head.headers)
        try:
            return await pass_response(client, server, request, head, meter.read, request_sent=sent)
        finally:
            meter.finish(asked.total)
            self._count(meter, head)

    def _count(self, meter: TokenMeter, head: ResponseHead) -> None:
        """Pass the tokens on, also those of an answer that was cut off."""
        if self._route.wire and head.status // 100 == 2 and meter.usage.total + meter.usage.cache_read_tokens:
            self._exhausted = self._check_usage(meter.model, meter.usage) or self._exhausted

    def _replace_headers(self, request: RequestHead, ours: Mapping[str, str]) -> tuple[Header, ...]:
        """Return the headers of the request with the real credentials instead of those of the agent."""
        if not all(map(is_header_value, ours.values())):
            raise OSError("the credentials have characters that are not valid in a header")
        left = (*_CREDENTIALS, *_REPLACED, *_OTHER_METHODS, *(name.lower() for name in ours))
        kept = request.headers.end_to_end().without(left).items
        # An answer that is not compressed can be counted while it passes.
        return (("Host", self._authority), *kept, ("Accept-Encoding", "identity"), *ours.items())

    @property
    def _authority(self) -> str:
        default = 443 if self._tls else 80
        return format_authority(self._host, None if self._port == default else self._port)

    async def _fail(self, client: Peer, request: RequestHead | None, error: Exception) -> bool:
        text = describe_failure(self._host, error)
        if request is None:
            return await answer_text(client, None, 502, text)
        return await answer_error(client, request, 502, "api_error", text)
