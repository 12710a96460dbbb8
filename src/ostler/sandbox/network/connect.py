"""Opens connections to the outside: to a checked address, or through the proxy of this machine."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager

from ostler.config.host import LOCALHOST, format_authority
from ostler.sandbox.network.addresses import Resolve, resolve_name
from ostler.sandbox.network.company_proxy import CompanyProxy, find_company_proxy
from ostler.sandbox.network.head import MAX_HEAD_BYTES, MessageInvalid, format_head, parse_response
from ostler.sandbox.network.peer import Peer
from ostler.sandbox.network.rules import LOOPBACK_ADDRESSES, Target
from ostler.sandbox.network.trust import make_tls_context
from ostler.text import describe_os_error, one_line

_CONNECT_SECONDS = 20.0
Dial = Callable[[str, int], Awaitable[Peer]]
"""Connects to an address, never to a name; raises OSError."""


class Connector:
    """Opens connections for one proxy."""

    def __init__(self, environ: Mapping[str, str], resolve: Resolve = resolve_name) -> None:
        self._environ = environ
        self._resolve = resolve
        self.dial: Dial = dial

    def find_proxy(self, scheme: str, target: Target) -> CompanyProxy | None:
        return None if target.is_local else find_company_proxy(scheme, target.host, self._environ)

    async def open(self, target: Target, via: CompanyProxy | None = None) -> Peer:
        """Connect to a target, or to the proxy that leads there; raise OSError or Refused."""
        async with _limit_time():
            if via is not None:
                return await self._open_proxy(via)
            return await self._dial_first(await self._find_addresses(target), target.port)

    async def open_tunnel(self, target: Target, via: CompanyProxy | None) -> Peer:
        """Connect to a target; through a proxy, by CONNECT."""
        peer = await self.open(target, via)
        if via is not None:
            try:
                await _request_tunnel(peer, target, via)
            except BaseException:
                await peer.abort()
                raise
        return peer

    async def open_model(self, host: str, port: int, *, tls: bool) -> tuple[Peer, CompanyProxy | None]:
        """Connect to the API of a model, whose address a person configured."""
        target = Target(host, port)
        is_direct = target.is_local or host in LOOPBACK_ADDRESSES
        via = None if is_direct else find_company_proxy("https" if tls else "http", host, self._environ)
        if not tls:
            return await (self.open(target, via) if via else self._open_configured(host, port)), via
        peer = await (self.open_tunnel(target, via) if via else self._open_configured(host, port))
        return await self._secured(peer, host), None

    async def _open_configured(self, host: str, port: int) -> Peer:
        async with _limit_time():
            addresses = LOOPBACK_ADDRESSES if host == LOCALHOST else await self._resolve(host, port)
            return await self._dial_first(addresses, port)

    async def open_local(self, port: int) -> Peer:
        """Connect to a service of this machine."""
        return await self._dial_first(LOOPBACK_ADDRESSES, port)

    async def _find_addresses(self, target: Target) -> list[str]:
        if target.is_local:
            return LOOPBACK_ADDRESSES
        if target.is_literal:
            return [target.host]
        return target.filter_addresses(await self._resolve(target.host, target.port))

    async def _open_proxy(self, via: CompanyProxy) -> Peer:
        peer = await self._dial_first(await self._resolve(via.host, via.port), via.port)
        return await self._secured(peer, via.host) if via.tls else peer

    async def _secured(self, peer: Peer, host: str) -> Peer:
        """Start TLS with checks of the certificate; raise OSError."""
        try:
            async with _limit_time():
                await peer.writer.start_tls(make_tls_context(self._environ), server_hostname=host)
        except BaseException:
            await peer.abort()
            raise
        return peer

    async def _dial_first(self, addresses: Iterable[str], port: int) -> Peer:
        """Connect to the first address that accepts."""
        failure = OSError("the name has no address")
        for address in addresses:
            try:
                return await self.dial(address, port)
            except OSError as error:
                failure = error
        raise failure


@asynccontextmanager
async def _limit_time() -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            yield
    except TimeoutError:
        raise OSError(f"no connection within {_CONNECT_SECONDS:.0f} seconds") from None


async def dial(address: str, port: int) -> Peer:
    """Connect to an address."""
    reader, writer = await asyncio.open_connection(address, port, limit=MAX_HEAD_BYTES)
    return Peer(reader, writer)


def describe_failure(host: str, error: BaseException) -> str:
    """Return why a host could not be reached, in one sentence."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = f"its certificate is not valid ({error.verify_message})"
    elif isinstance(error, OSError) and error.strerror:
        why = describe_os_error(error)
    else:
        why = one_line(str(error)) or type(error).__name__
    return f"{host} could not be reached from outside the sandbox: {why}"


async def _request_tunnel(peer: Peer, target: Target, via: CompanyProxy) -> None:
    authority = format_authority(target.host, target.port)
    head = format_head(f"CONNECT {authority} HTTP/1.1", (("Host", authority), *via.headers))
    try:
        async with _limit_time():
            await peer.send(head)
            answer = parse_response(await peer.read_head(), "CONNECT")
    except (MessageInvalid, EOFError) as error:
        raise OSError(f"the proxy {via.host} did not answer: {error}") from None
    if answer.status // 100 != 2:
        raise OSError(f"the proxy {via.host} answered {answer.status} {one_line(answer.reason)}")
