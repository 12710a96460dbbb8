"""A model server on 127.0.0.1: real clients send requests, a script answers them."""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, assert_never

from ostler.testing.llm.anthropic import ANTHROPIC
from ostler.testing.llm.connection import Connection
from ostler.testing.llm.describe import describe_turn
from ostler.testing.llm.dialect import Dialect
from ostler.testing.llm.gemini import GEMINI
from ostler.testing.llm.limits import LimitReport, Limits
from ostler.testing.llm.models import list_models
from ostler.testing.llm.openai_chat import OPENAI_CHAT
from ostler.testing.llm.openai_responses import OPENAI_RESPONSES
from ostler.testing.llm.request import Request, read_request
from ostler.testing.llm.script import Script, Turns
from ostler.testing.llm.turns import Answer, Failure, Flood, Silence, fail
from ostler.testing.loopback import Loopback

_PROMPT_PATHS: dict[str, Dialect] = {
    r"/messages": ANTHROPIC,
    r"/chat/completions": OPENAI_CHAT,
    r"/responses": OPENAI_RESPONSES,
    r"/models/[^/:]+:(stream)?[gG]enerateContent": GEMINI,
}
_COUNT_PATHS: dict[str, Dialect] = {
    r"/messages/count_tokens": ANTHROPIC,
    r"/responses/input_tokens": OPENAI_RESPONSES,
    r"/models/[^/:]+:countTokens": GEMINI,
}
_OVERLOADED = fail(529, "Overloaded", kind="overloaded_error")
_LARGEST_BODY = 64 << 20


OnRequest = Callable[[Request, str], None]


class FakeLlm(Loopback):
    """Serves while it is open: `with FakeLlm([say("Hello")]) as llm: llm.url, llm.requests`."""

    def __init__(self, turns: Turns = (), port: int = 0, on_request: OnRequest | None = None) -> None:
        super().__init__(partial(_Handler, self), port)
        self.on_request = on_request or _ignore  # called with each request and its answer in words
        self.started_at = time.time()  # the windows of limits count from here
        self.script = Script(turns, self.started_at)
        self._requests: list[Request] = []
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The base URL; OpenAI clients append /v1 to it."""
        return self.address

    @property
    def requests(self) -> tuple[Request, ...]:
        """All requests, in order."""
        with self._lock:
            return tuple(self._requests)

    @property
    def prompts(self) -> tuple[Request, ...]:
        """The requests that took a turn: not those for models or token counts."""
        return tuple(request for request in self.requests if _find_dialect(_PROMPT_PATHS, request))

    def record(self, method: str, target: str, headers: Any, data: bytes) -> Request:
        with self._lock:
            number = len(self._requests) + 1
            request = read_request(number, method, target, headers, data, uuid.uuid4().hex[:20])
            self._requests.append(request)
        return request


class _Handler(Connection):
    def __init__(self, llm: FakeLlm, *connection: Any) -> None:
        self._llm = llm
        super().__init__(*connection)

    def do_GET(self) -> None:
        request = self._llm.record(self.command, self.path, self.headers, b"")
        models = list_models(request.path)
        self._llm.on_request(request, "404 not found" if models is None else "models")
        if models is None:
            self.send_json(404, {"error": {"message": f"not found: {request.path}"}})
        else:
            self.send_json(200, models)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        data = self._read_body()
        request = self._llm.record(self.command, self.path, self.headers, data)
        if counting := _find_dialect(_COUNT_PATHS, request):
            self._llm.on_request(request, "number of tokens")
            self.send_json(200, counting.count(request))
        elif asked := _find_dialect(_PROMPT_PATHS, request):
            self._answer(request, asked)
        else:
            self._llm.on_request(request, "404 unknown API")
            self.send_json(404, {"error": {"message": f"unknown API: {request.path}"}})

    def _answer(self, request: Request, dialect: Dialect) -> None:
        turn = self._llm.script.take(request)
        self._llm.on_request(request, describe_turn(turn))
        match turn:
            case Answer():
                self._send_answer(turn, request, dialect)
            case Failure():
                self._send_failure(turn, dialect)
            case Silence(silence_seconds=seconds):
                self.wait(seconds)
                self.drop()
            case Flood():
                self.send_flood(turn)
            case _:
                assert_never(turn)

    def _send_answer(self, answer: Answer, request: Request, dialect: Dialect) -> None:
        if not self.wait(answer.delay_seconds):
            return self.drop()
        events = request.stream and (dialect is not GEMINI or "alt=sse" in request.query)
        headers = {**self._report(answer.limits, dialect).headers, **answer.headers}
        if not events and not answer.breaks:
            whole = dialect.whole(answer, request)
            return self.send_json(200, [whole] if request.stream else whole, headers)
        failed = answer.error or _OVERLOADED
        if not events and answer.breaks == "error_event":
            return self._send_failure(failed, dialect)
        parts = dialect.frames(answer, request) if events else [b"{", b"}"]
        if not answer.breaks:
            return self.send_parts(parts, headers, events=events)
        error = dialect.failure_frame(failed)
        return self.send_broken(parts, answer, error, dialect.ping, headers, events=events)

    def _send_failure(self, failed: Failure, dialect: Dialect) -> None:
        report = self._report(failed.limits, dialect)
        headers = {**report.headers, **failed.headers}
        if failed.retry_after is not None:
            headers["Retry-After"] = failed.retry_after
        if failed.html:
            return self.send_body(failed.status, failed.html.encode(), "text/html", headers)
        body = dialect.failure(failed)
        body["error"] |= report.error
        return self.send_json(failed.status, body, headers)

    def _report(self, limits: Limits | None, dialect: Dialect) -> LimitReport:
        return dialect.limits(limits, self._llm.started_at) if limits else LimitReport()

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            return b"".join(self._read_chunks())
        size = int(self.headers.get("Content-Length") or 0)
        self.close_connection = self.close_connection or size > _LARGEST_BODY
        return self.rfile.read(min(size, _LARGEST_BODY))

    def _read_chunks(self) -> Iterator[bytes]:
        left = _LARGEST_BODY
        while left and (size := int(self.rfile.readline(100).split(b";")[0], 16)):
            data = self.rfile.read(min(size, left))
            left -= len(data)
            self.rfile.readline(100)
            yield data
        self.rfile.readline(100)


def _ignore(request: Request, answer: str) -> None:
    del request, answer


def _find_dialect(table: dict[str, Dialect], request: Request) -> Dialect | None:
    return next((dialect for ending, dialect in table.items() if _ends(request, ending)), None)


def _ends(request: Request, ending: str) -> bool:
    return request.method == "POST" and re.search(f"{ending}$", request.path) is not None
