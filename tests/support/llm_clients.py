"""How the client of each model API sends a request and reads an answer, as a whole or as a stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

Json = dict[str, Any]
GEMINI_MODEL = "/v1beta/models/gemini-x"


class Api(NamedTuple):
    path: str
    streamed: str  # the path for a stream
    body: Json  # a conversation of ONE and TWO
    whole: Callable[[Json], Json]  # an answer in plain words
    from_events: Callable[[list[Json]], Json]  # the same from its events


def _anthropic(message: Json) -> Json:
    blocks = message["content"]
    return {
        "text": "".join(block["text"] for block in blocks if block["type"] == "text"),
        "calls": [(block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"],
        "stop": message["stop_reason"],
        "tokens": (message["usage"]["input_tokens"], message["usage"]["output_tokens"]),
    }


def _anthropic_from_events(events: list[Json]) -> Json:
    message: Json = {**events[0]["message"], "content": []}
    written = ""
    for event in events:
        match event["type"]:
            case "content_block_start":
                message["content"].append(dict(event["content_block"]))
                written = ""
            case "content_block_delta" if event["delta"]["type"] == "text_delta":
                message["content"][-1]["text"] += event["delta"]["text"]
            case "content_block_delta":
                written += event["delta"]["partial_json"]
            case "content_block_stop" if written:
                message["content"][-1]["input"] = json.loads(written)
            case "message_delta":
                message |= {"stop_reason": event["delta"]["stop_reason"], "usage": event["usage"]}
    assert events[-1] == {"type": "message_stop"}
    return _anthropic(message)


def _chat(completion: Json) -> Json:
    choice = completion["choices"][0]
    calls = choice["message"].get("tool_calls", [])
    usage = completion["usage"]
    return {
        "text": choice["message"]["content"] or "",
        "calls": [(c["function"]["name"], json.loads(c["function"]["arguments"])) for c in calls],
        "stop": choice["finish_reason"],
        "tokens": (usage["prompt_tokens"], usage["completion_tokens"]),
    }


def _calls_from_parts(parts: list[Json]) -> list[Json]:
    """Each part belongs to the call with its index; only the first has a name."""
    calls: dict[int, Json] = {}
    for part in parts:
        known = calls.setdefault(part["index"], {"name": part["function"].get("name"), "arguments": ""})
        known["arguments"] += part["function"]["arguments"]
    return [{"function": call} for call in calls.values()]


def _chat_from_events(events: list[Json]) -> Json:
    choices = [event["choices"][0] for event in events if event["choices"]]
    deltas = [choice["delta"] for choice in choices]
    message = {
        "content": "".join(delta.get("content", "") for delta in deltas),
        "tool_calls": _calls_from_parts([part for delta in deltas for part in delta.get("tool_calls", [])]),
    }
    choice = {"message": message, "finish_reason": choices[-1]["finish_reason"]}
    return _chat({"choices": [choice], "usage": events[-1]["usage"]})


def _responses(response: Json) -> Json:
    items = response["output"]
    return {
        "text": "".join(i["content"][0]["text"] for i in items if i["type"] == "message"),
        "calls": [(i["name"], json.loads(i["arguments"])) for i in items if i["type"] == "function_call"],
        "stop": (response["incomplete_details"] or {}).get("reason", response["status"]),
        "tokens": (response["usage"]["input_tokens"], response["usage"]["output_tokens"]),
    }


def _responses_from_events(events: list[Json]) -> Json:
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    reported = _responses(events[-1]["response"])
    kind = "response.output_text.delta"
    assert "".join(event["delta"] for event in events if event["type"] == kind) == reported["text"]
    return reported


def _gemini(message: Json) -> Json:
    candidate = message["candidates"][0]
    parts = candidate["content"]["parts"]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    usage = message["usageMetadata"]
    return {
        "text": "".join(part.get("text", "") for part in parts),
        "calls": [(one["name"], one["args"]) for one in calls],
        "stop": candidate["finishReason"],
        "tokens": (usage["promptTokenCount"], usage["candidatesTokenCount"]),
    }


def _gemini_from_events(events: list[Json]) -> Json:
    parts = [part for event in events for part in event["candidates"][0]["content"]["parts"]]
    last = events[-1]
    last["candidates"][0]["content"]["parts"] = parts
    return _gemini(last)


TURNS = [{"role": "user", "content": "ONE"}, {"role": "assistant", "content": "TWO"}]
_CONTENTS = [{"role": "user", "parts": [{"text": "ONE"}]}, {"role": "model", "parts": [{"text": "TWO"}]}]
_SSE = f"{GEMINI_MODEL}:streamGenerateContent?alt=sse"
APIS = {
    "anthropic": Api(
        "/v1/messages?beta=true", "/v1/messages", {"messages": TURNS}, _anthropic, _anthropic_from_events
    ),
    "chat": Api(
        "/v1/chat/completions", "/v1/chat/completions", {"messages": TURNS}, _chat, _chat_from_events
    ),
    "responses": Api("/v1/responses", "/v1/responses", {"input": TURNS}, _responses, _responses_from_events),
    "gemini": Api(
        f"{GEMINI_MODEL}:generateContent", _SSE, {"contents": _CONTENTS}, _gemini, _gemini_from_events
    ),
}
