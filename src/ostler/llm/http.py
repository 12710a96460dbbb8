"""Opens the connection to a provider, and limits the size of its responses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx2

from ostler.errors import Code
from ostler.llm.failure import ModelError
from ostler.text import one_line

MAX_ANSWER_BYTES = 64 << 20  # four times the longest answer of current models
_MAX_ERROR_BYTES = 64 << 10  # the rest is not read
TIMEOUT = httpx2.Timeout(None, connect=20.0)  # the other timeouts are those of the request


def open_http() -> httpx2.AsyncClient:
    """Return a client for one request, without redirects and compression, and with a size limit."""
    return httpx2.AsyncClient(
        timeout=TIMEOUT,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [_limit_body]},
    )


async def iter_chunks(response: httpx2.Response) -> AsyncIterator[bytes]:
    """Yield the body as it arrives; raise ModelError when the connection fails."""
    try:
        async for chunk in response.aiter_bytes():
            yield chunk
    except httpx2.HTTPError as error:
        why = one_line(str(error)) or type(error).__name__
        raise ModelError(Code.STREAM_BROKEN, f"the answer was interrupted: {why}") from None


def make_network_error(error: BaseException, host: str) -> ModelError:
    """Return the error to raise when there was no response."""
    why = one_line(str(error)) or type(error).__name__
    return ModelError(Code.NETWORK, f"{host} could not be reached: {why}")


def parse_host(url: str) -> str:
    """Return the host of an address, which has no secrets; raise ModelError for an invalid address."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:
        raise _invalid_address() from None
    if not is_valid or not parts.hostname:
        raise _invalid_address()
    return parts.hostname


def _invalid_address() -> ModelError:
    return ModelError(
        Code.CONFIG_INVALID, "the address of the model API is invalid: expected an http or https URL"
    )


async def _limit_body(response: httpx2.Response) -> None:
    # A compressed body could grow a thousandfold in memory before it is counted.
    encoding = response.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise ModelError(
            Code.API_ERROR, f"the answer is compressed ({one_line(encoding)}), which was not requested"
        )
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _LimitedBody(response.stream, response.is_success)


class _LimitedBody(httpx2.AsyncByteStream):
    """Limits a body: an answer that is too long is an error, an error response is cut."""

    def __init__(self, stream: httpx2.AsyncByteStream, is_answer: bool) -> None:
        self._stream = stream
        self._is_answer = is_answer

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._answer() if self._is_answer else self._error()

    async def _answer(self) -> AsyncIterator[bytes]:
        count = 0
        async for chunk in self._stream:
            count += len(chunk)
            if count > MAX_ANSWER_BYTES:
                raise ModelError(Code.OUTPUT_LIMIT, f"the answer is longer than {MAX_ANSWER_BYTES >> 20} MiB")
            yield chunk

    async def _error(self) -> AsyncIterator[bytes]:
        count = 0
        try:
            async for chunk in self._stream:
                yield chunk
                count += len(chunk)
                if count > _MAX_ERROR_BYTES:
                    return
        except httpx2.HTTPError:
            # The status is the most important part.
            return

    async def aclose(self) -> None:
        await self._stream.aclose()
