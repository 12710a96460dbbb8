"""The Anthropic Messages API."""

from __future__ import annotations

import json

from ostler.testing.llm.dialect import Dialect, Json, estimate, frame, pieces
from ostler.testing.llm.limits import report_unified
from ostler.testing.llm.request import Request
from ostler.testing.llm.turns import Answer, Failure

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def whole(answer: Answer, request: Request) -> Json:
    used = answer.usage
    return {
        "id": f"msg_{request.id}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": _blocks(answer, request),
        "stop_reason": answer.reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "cache_read_input_tokens": used.cache_read_tokens,
            "cache_creation_input_tokens": used.cache_write_tokens,
        },
    }


def frames(answer: Answer, request: Request) -> list[bytes]:
    message = whole(answer, request)
    usage = message["usage"]
    begun: Json = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    events: list[Json] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(message["content"]):
        events += [{**event, "index": index} for event in _block_events(block)]
    delta = {"stop_reason": answer.reason, "stop_sequence": None}
    events += [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]
    return [frame(event, event["type"]) for event in events]


def failure(failed: Failure) -> Json:
    kind = failed.kind or _KINDS.get(failed.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": failed.message}, "request_id": "req_fake"}


def _failure_frame(failed: Failure) -> bytes:
    return frame(failure(failed), "error")


def _count(request: Request) -> Json:
    return {"input_tokens": estimate(request)}


def _blocks(answer: Answer, request: Request) -> list[Json]:
    text_blocks = [{"type": "text", "text": answer.say}] if answer.say else []
    uses = [
        {"type": "tool_use", "id": f"toolu_{request.id}_{index}", "name": tool.name, "input": tool.input}
        for index, tool in enumerate(answer.tools)
    ]
    return [*answer.blocks, *text_blocks, *uses]


def _block_events(block: Json) -> list[Json]:
    begun: Json = block
    deltas: list[Json] = []
    if block["type"] == "text":
        begun = {**block, "text": ""}
        deltas = [{"type": "text_delta", "text": part} for part in pieces(block["text"])]
    elif block["type"] == "tool_use":
        begun = {**block, "input": {}}
        written = pieces(json.dumps(block["input"]))
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in written]
    return [
        {"type": "content_block_start", "content_block": begun},
        *({"type": "content_block_delta", "delta": delta} for delta in deltas),
        {"type": "content_block_stop"},
    ]


ANTHROPIC = Dialect(
    name="anthropic",
    whole=whole,
    frames=frames,
    failure=failure,
    failure_frame=_failure_frame,
    count=_count,
    ping=frame({"type": "ping"}, "ping"),
    limits=report_unified,
)
