"""The OpenAI Responses API."""

from __future__ import annotations

import json

from ostler.testing.llm.dialect import Dialect, Json, estimate, frame, pieces
from ostler.testing.llm.limits import report_codex
from ostler.testing.llm.openai_chat import failure
from ostler.testing.llm.request import Request
from ostler.testing.llm.turns import Answer, Failure, ToolCall


def whole(answer: Answer, request: Request) -> Json:
    cut = answer.reason == "max_tokens"
    return {
        **_head(request, "incomplete" if cut else "completed"),
        "output": _items(answer, request),
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "usage": _usage(answer),
    }


def frames(answer: Answer, request: Request) -> list[bytes]:
    begun: Json = {**_head(request, "in_progress"), "output": []}
    events: list[Json] = [
        {"type": f"response.{event}", "response": begun} for event in ("created", "in_progress")
    ]
    for index, item in enumerate(_items(answer, request)):
        events += [{**event, "output_index": index} for event in _item_events(item)]
    done = whole(answer, request)
    events.append({"type": f"response.{done['status']}", "response": done})
    return [frame({**event, "sequence_number": number}, event["type"]) for number, event in enumerate(events)]


def _failure_frame(failed: Failure) -> bytes:
    error = failure(failed)["error"]
    response: Json = {
        "id": "resp_fake",
        "object": "response",
        "status": "failed",
        "output": [],
        "error": error,
    }
    return frame({"type": "response.failed", "response": response}, "response.failed")


def _count(request: Request) -> Json:
    return {"object": "response.input_tokens", "input_tokens": estimate(request)}


def _head(request: Request, status: str) -> Json:
    return {
        "id": f"resp_{request.id}",
        "object": "response",
        "created_at": 1_700_000_000,
        "model": request.model,
        "status": status,
        "error": None,
    }


def _items(answer: Answer, request: Request) -> list[Json]:
    refused = answer.stop == "refusal"
    part: Json = {"type": "refusal", "refusal": answer.say} if refused else _text(answer.say)
    message: Json = {
        "id": f"msg_{request.id}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    uses = [_use(tool, f"{request.id}_{index}", request) for index, tool in enumerate(answer.tools)]
    return [*answer.blocks, *([message] if answer.say or refused else []), *uses]


def _text(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": []}


def _use(tool: ToolCall, id: str, request: Request) -> Json:
    """A function call; a tool that the client declared as free-form gets its `input` as plain text."""
    head: Json = {"id": f"fc_{id}", "call_id": f"call_{id}", "name": tool.name, "status": "completed"}
    kinds = {entry.get("name"): entry.get("type") for entry in request.tool_entries}
    if kinds.get(tool.name) == "custom":
        return {**head, "type": "custom_tool_call", "input": tool.input.get("input", "")}
    return {**head, "type": "function_call", "arguments": json.dumps(tool.input)}


def _item_events(item: Json) -> list[Json]:
    about: Json = {"item_id": item.get("id", "")}
    inner: list[Json] = []
    if item["type"] == "message" and item["content"][0]["type"] == "output_text":
        text = item["content"][0]["text"]
        inside: Json = {**about, "content_index": 0}
        inner = [
            {"type": "response.content_part.added", **inside, "part": _text("")},
            *({"type": "response.output_text.delta", **inside, "delta": part} for part in pieces(text)),
            {"type": "response.output_text.done", **inside, "text": text},
            {"type": "response.content_part.done", **inside, "part": _text(text)},
        ]
    elif item["type"] == "function_call":
        written = item["arguments"]
        inner = [
            {"type": "response.function_call_arguments.delta", **about, "delta": written},
            {"type": "response.function_call_arguments.done", **about, "arguments": written},
        ]
    begun = {**item, "status": "in_progress"}
    begun |= {name: type(item[name])() for name in ("content", "arguments", "input") if name in item}
    return [
        {"type": "response.output_item.added", "item": begun},
        *inner,
        {"type": "response.output_item.done", "item": item},
    ]


def _usage(answer: Answer) -> Json:
    used = answer.usage
    return {
        "input_tokens": used.input_tokens,
        "input_tokens_details": {"cached_tokens": used.cache_read_tokens},
        "output_tokens": used.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used.total,
    }


OPENAI_RESPONSES = Dialect(
    "openai-responses", whole, frames, failure, _failure_frame, _count, limits=report_codex
)
