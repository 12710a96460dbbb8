"""The OpenAI Chat Completions API, which most other providers implement too."""

from __future__ import annotations

import json

from ostler.testing.llm.dialect import Dialect, Json, estimate, frame, pieces
from ostler.testing.llm.limits import report_openai
from ostler.testing.llm.request import Request
from ostler.testing.llm.turns import Answer, Failure

_FINISH: dict[str, str] = {
    "end_turn": "stop",
    "max_tokens": "length",
    "refusal": "content_filter",
    "tool_use": "tool_calls",
}
_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


def whole(answer: Answer, request: Request) -> Json:
    message: Json = {"role": "assistant", "content": answer.say or None}
    if answer.tools:
        message["tool_calls"] = _tool_calls(answer, request)
    if answer.stop == "refusal":
        message["refusal"] = answer.say
    choice = {"index": 0, "message": message, "finish_reason": _finish(answer), "logprobs": None}
    return {**_head("chat.completion", request), "choices": [choice], "usage": _usage(answer)}


def frames(answer: Answer, request: Request) -> list[bytes]:
    deltas: list[Json] = [{"role": "assistant", "content": ""}, *answer.blocks]
    deltas += [{"content": part} for part in pieces(answer.say)]
    for index, call in enumerate(_tool_calls(answer, request)):
        deltas += [{"tool_calls": [{**part, "index": index}]} for part in _call_parts(call)]
    chunks = [_chunk(request, delta, None) for delta in deltas]
    last: Json = {**_head("chat.completion.chunk", request), "choices": [], "usage": _usage(answer)}
    return [
        *(frame(chunk) for chunk in (*chunks, _chunk(request, {}, _finish(answer)), last)),
        frame("[DONE]"),
    ]


def failure(failed: Failure) -> Json:
    error = {
        "message": failed.message,
        "type": failed.kind or _KINDS.get(failed.status, "server_error"),
        "code": failed.kind or _CODES.get(failed.status),
        "param": None,
    }
    return {"error": error}


def _failure_frame(failed: Failure) -> bytes:
    return frame(failure(failed))


def _count(request: Request) -> Json:
    return {"total_tokens": estimate(request)}


def _finish(answer: Answer) -> str:
    return _FINISH.get(answer.reason, answer.reason)


def _head(kind: str, request: Request) -> Json:
    return {"id": f"chatcmpl-{request.id}", "object": kind, "created": 1_700_000_000, "model": request.model}


def _chunk(request: Request, delta: Json, finish: str | None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return {**_head("chat.completion.chunk", request), "choices": [choice]}


def _tool_calls(answer: Answer, request: Request) -> list[Json]:
    return [
        {
            "id": f"call_{request.id}_{index}",
            "type": "function",
            "function": {"name": tool.name, "arguments": json.dumps(tool.input)},
        }
        for index, tool in enumerate(answer.tools)
    ]


def _call_parts(call: Json) -> list[Json]:
    """First the name, then the arguments in parts."""
    begun = {**call, "function": {**call["function"], "arguments": ""}}
    written = pieces(call["function"]["arguments"])
    return [begun, *({"function": {"arguments": part}} for part in written)]


def _usage(answer: Answer) -> Json:
    used = answer.usage
    return {
        "prompt_tokens": used.input_tokens,
        "completion_tokens": used.output_tokens,
        "total_tokens": used.total,
        "prompt_tokens_details": {"cached_tokens": used.cache_read_tokens},
    }


OPENAI_CHAT = Dialect("openai-chat", whole, frames, failure, _failure_frame, _count, limits=report_openai)
