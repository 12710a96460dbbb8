"""Deliver notifications by HTTP as JSON, signed with a shared secret."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Callable, Mapping
from importlib import import_module

from ostler.config.settings import NotifySettings
from ostler.notify.message import Message, NotDelivered, TargetMisconfigured


class WebhookTarget:
    """Accepts any status from 200 to 299; ignores the response body and does not follow redirects."""

    def __init__(self, entry: NotifySettings, environ: Mapping[str, str], now: Callable[[], float]) -> None:
        self._entry = entry
        self._environ = environ
        self._now = now

    async def deliver(self, message: Message, body: bytes) -> None:
        """Return when the receiver accepts the message; raise NotDelivered otherwise."""
        headers = self._headers(message, body)
        try:
            async with asyncio.timeout(self._entry.timeout_seconds):
                status = await _post(self._entry.url, headers, body)
        except TimeoutError:
            raise NotDelivered(f"no response within {self._entry.timeout_seconds:g} s") from None
        if not 200 <= status < 300:
            raise NotDelivered(f"HTTP status {status}")

    def _headers(self, message: Message, body: bytes) -> dict[str, str]:
        sent = str(int(self._now()))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "ostler",
            "X-Ostler-Event": message.on,
            "X-Ostler-Delivery": message.id,
            "X-Ostler-Timestamp": sent,
        }
        return headers | self._signed(sent, body)

    def _signed(self, sent: str, body: bytes) -> dict[str, str]:
        name = self._entry.secret_env
        if not name:
            return {}
        secret = self._environ.get(name, "")
        if not secret:
            raise TargetMisconfigured(f"{name} is not set, so the message cannot be signed")
        return {"X-Ostler-Signature": f"sha256={sign(secret, sent, body)}"}


def sign(secret: str, sent: str, body: bytes) -> str:
    """Return the HMAC-SHA256 of the timestamp, a dot and the body."""
    return hmac.new(secret.encode(), sent.encode() + b"." + body, hashlib.sha256).hexdigest()


async def _post(url: str, headers: dict[str, str], body: bytes) -> int:
    await asyncio.to_thread(import_module, "httpx2")  # the import is slow and must not block the event loop
    import httpx2  # noqa: PLC0415

    try:
        async with (
            httpx2.AsyncClient(timeout=None) as client,
            client.stream("POST", url, headers=headers, content=body) as response,
        ):
            return response.status_code
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise NotDelivered(str(error) or type(error).__name__) from error
