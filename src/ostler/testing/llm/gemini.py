"""The Gemini API: generateContent and streamGenerateContent."""

from __future__ import annotations

from ostler.testing.llm.dialect import Dialect, Json, estimate, frame, pieces
from ostler.testing.llm.limits import report_gemini
from ostler.testing.llm.request import Request
from ostler.testing.llm.turns import Answer, Failure, Stop

_FINISH: dict[Stop, str] = {
    "end_turn": "STOP",
    "max_tokens": "MAX_TOKENS",
    "refusal": "SAFETY",
    "tool_use": "STOP",
}
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


def whole(answer: Answer, request: Request) -> Json:
    return _message(answer, request, [*_spoken(answer, [answer.say]), *_calls(answer)], last=True)


def frames(answer: Answer, request: Request) -> list[bytes]:
    parts = _spoken(answer, pieces(answer.say))
    messages = [_message(answer, request, [part], last=False) for part in parts]
    return [frame(message) for message in (*messages, _message(answer, request, _calls(answer), last=True))]


def failure(failed: Failure) -> Json:
    status = failed.kind or _STATUS.get(failed.status, "INTERNAL")
    return {"error": {"code": failed.status, "message": failed.message, "status": status, "details": []}}


def _failure_frame(failed: Failure) -> bytes:
    return frame(failure(failed))


def _count(request: Request) -> Json:
    return {"totalTokens": estimate(request)}


def _message(answer: Answer, request: Request, parts: list[Json], *, last: bool) -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
    if last:
        candidate["finishReason"] = _FINISH[answer.reason]
    return {
        "responseId": request.id,
        "modelVersion": request.model,
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": answer.usage.input_tokens,
            "candidatesTokenCount": answer.usage.output_tokens,
            "cachedContentTokenCount": answer.usage.cache_read_tokens,
            "totalTokenCount": answer.usage.total,
        },
    }


def _spoken(answer: Answer, texts: list[str]) -> list[Json]:
    return [*answer.blocks, *({"text": text} for text in texts if text)]


def _calls(answer: Answer) -> list[Json]:
    return [{"functionCall": {"name": tool.name, "args": tool.input}} for tool in answer.tools]


GEMINI = Dialect("gemini", whole, frames, failure, _failure_frame, _count, limits=report_gemini)
