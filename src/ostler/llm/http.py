"""One connection to a provider, and never more from it than we can hold."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx2

from ostler.errors import Code
from ostler.llm.failure import ModelError, one_line

MOST_BYTES = 64 << 20  # of an answer; the longest that models give are a quarter of this
_MOST_ERROR_BYTES = 64 << 10  # of an error; what is behind that is not read
TIMEOUT = httpx2.Timeout(None, connect=20.0)  # all other deadlines are the request's own


def open_http() -> httpx2.AsyncClient:
    """A client for one exchange: no redirects, nothing compressed, nothing endless."""
    return httpx2.AsyncClient(
        timeout=TIMEOUT,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [_hold]},
    )


async def chunks_of(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The body as it comes. Raises ModelError when it breaks off."""
    try:
        async for chunk in response.aiter_bytes():
            yield chunk
    except httpx2.HTTPError as error:
        why = one_line(str(error)) or type(error).__name__
        raise ModelError(Code.STREAM_BROKEN, f"the answer broke off: {why}") from None


def unreached(error: BaseException, host: str) -> ModelError:
    """The error to raise when no answer began."""
    why = one_line(str(error)) or type(error).__name__
    return ModelError(Code.NETWORK, f"{host} could not be reached: {why}")


def host_of(url: str) -> str:
    """The part of an address that can be shown to anyone. Raises ModelError for what is no address."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:
        raise _unusable() from None
    if not usable or not parts.hostname:
        raise _unusable()
    return parts.hostname


def _unusable() -> ModelError:
    return ModelError(Code.CONFIG_INVALID, "the address of the model API is not one of http or https")


async def _hold(response: httpx2.Response) -> None:
    """A compressed body could grow a thousandfold in memory before anyone counts it."""
    encoding = response.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise ModelError(
            Code.API_ERROR, f"the answer is compressed ({one_line(encoding)}) although that was not asked for"
        )
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _Held(response.stream, response.is_success)


class _Held(httpx2.AsyncByteStream):
    """Counts a body: an answer that is too long is refused, an error that is too long or broken is cut."""

    def __init__(self, stream: httpx2.AsyncByteStream, is_answer: bool) -> None:
        self._stream = stream
        self._is_answer = is_answer

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._answer() if self._is_answer else self._error()

    async def _answer(self) -> AsyncIterator[bytes]:
        count = 0
        async for chunk in self._stream:
            count += len(chunk)
            if count > MOST_BYTES:
                raise ModelError(Code.OUTPUT_LIMIT, f"the answer is longer than {MOST_BYTES >> 20} MiB")
            yield chunk

    async def _error(self) -> AsyncIterator[bytes]:
        count = 0
        try:
            async for chunk in self._stream:
                yield chunk
                count += len(chunk)
                if count > _MOST_ERROR_BYTES:
                    return
        except httpx2.HTTPError:
            return  # the status has said the most important

    async def aclose(self) -> None:
        await self._stream.aclose()
