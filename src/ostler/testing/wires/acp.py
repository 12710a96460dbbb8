"""The Agent Client Protocol.

behaviour["handshake"] selects a variant: auth (requires a login), version (another protocol version),
forgetful (keeps no sessions), loads (replays a session instead of resuming it), boasts (claims to resume, but
only loads, even unknown sessions), polite (reports an error as an answer).
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ostler.testing.fake_agent import FakeAgent

VERSION = "1.0.0"
MODEL = "fake-1"
TITLES = {"edit": "Write file", "execute": "make"}


def session_of(agent: FakeAgent) -> tuple[str, bool]:
    agent.notes.update(prompt={}, asks=0)
    return str(uuid.uuid4()), False


def receive(agent: FakeAgent) -> str:
    """Answer requests until a prompt arrives; exit at the end of the input."""
    while True:
        request = _next_message()
        match request.get("method"):
            case "initialize":
                _answer(agent, request, _introduction(agent))
            case "session/new" | "session/load" | "session/resume":
                _open(agent, request)
            case "session/set_config_option" | "session/set_mode":
                _set(agent, request)
            case "session/prompt":
                agent.notes["prompt"] = request
                return "".join(part["text"] for part in request["params"]["prompt"])
            case _:
                pass


def unknown_session(agent: FakeAgent) -> int:
    raise AssertionError(f"session {agent.session_id} was opened and does not exist")


def taken_session(agent: FakeAgent) -> int:
    raise AssertionError(f"a new session has the id of an existing one: {agent.session_id}")


def init(agent: FakeAgent) -> None:
    _notify(agent, "fake/notify/progress", {"anything": [1]})
    _update(agent, "plan", entries=[])


def text(agent: FakeAgent, text: str) -> None:
    half, message = len(text) // 2, str(uuid.uuid4())
    for piece in (text[:half], text[half:]):
        _update(agent, "agent_message_chunk", messageId=message, content={"type": "text", "text": piece})


def tool_started(agent: FakeAgent, path: str) -> bool:
    """Return whether the client allows the tool."""
    place = os.path.abspath(path)  # noqa: PTH100  (importing pathlib takes a fifth of the start-up time)
    return _ask_permission(agent, path, "edit", {"file_path": place}, locations=[{"path": place}])


def tool_done(agent: FakeAgent, path: str) -> None:
    _update(agent, "tool_call_update", toolCallId=path, status="completed")


def denied(agent: FakeAgent) -> None:
    allowed = _ask_permission(agent, "call-1", "execute", {"command": "make"})
    answer = "I ran it." if allowed else "I was not allowed to."
    text(agent, answer)
    result(agent, answer)


def result(agent: FakeAgent, text: str) -> None:
    """Send the result, after the cost of the whole session."""
    del text  # it was sent in parts
    total = agent.charge(agent["cost_usd"])
    _update(agent, "usage_update", used=15, size=1000, cost={"amount": total, "currency": "USD"})
    usage = {"totalTokens": 15, "inputTokens": 10, "outputTokens": 5}
    _answer(
        agent,
        agent.notes["prompt"],
        {"stopReason": agent.behaviour.get("stop_reason", "end_turn"), "usage": usage},
    )


def api_error(agent: FakeAgent) -> int:
    """Report the error as an internal error, or (polite, as copilot) as an answer."""
    if agent.behaviour.get("handshake") == "polite":
        text(agent, f"Error: {agent['error']} fake")
        _answer(agent, agent.notes["prompt"], {"stopReason": "end_turn"})
    else:
        _refuse(agent, agent.notes["prompt"], -32603, "Internal error", {"details": f"{agent['error']} fake"})
    return 0


def _introduction(agent: FakeAgent) -> dict[str, Any]:
    odd = agent.behaviour.get("handshake")
    capabilities: dict[str, Any] = {"loadSession": odd != "forgetful"}
    if odd not in ("forgetful", "loads"):
        capabilities["sessionCapabilities"] = {"resume": {}}
    info = {"name": "fake", "title": "Fake", "version": VERSION}
    version = 2 if odd == "version" else 1
    return {"protocolVersion": version, "agentCapabilities": capabilities, "agentInfo": info}


def _open(agent: FakeAgent, request: dict[str, Any]) -> None:
    if agent.behaviour.get("handshake") == "auth":
        _refuse(agent, request, -32000, "Authentication required")
        return
    if agent.behaviour.get("handshake") == "boasts" and request["method"] == "session/resume":
        _refuse(agent, request, -32601, "Method not found", {"method": request["method"]})
        return
    agent.resumed = request["method"] != "session/new"
    agent.session_id = request["params"].get("sessionId", agent.session_id)
    lost = agent.resumed and (agent["fault"] == "a25_forgets" or not agent.recall())
    if lost and agent.behaviour.get("handshake") != "boasts":
        _refuse(agent, request, -32002, "Resource not found", {"uri": agent.session_id})
        return
    if request["method"] == "session/load" and not lost:
        text(agent, "an old answer")
    _answer(
        agent, request, {**({} if agent.resumed else {"sessionId": agent.session_id}), **_settings(agent)}
    )


def _settings(agent: FakeAgent) -> dict[str, Any]:
    modes = [{"id": "fake-mode", "name": "Fake"}]
    models = [{"value": name, "name": name} for name in (MODEL, "fake-2")]
    model = {"id": "model", "name": "Model", "category": "model", "type": "select", "options": models}
    flag = {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": False}
    return {
        "modes": {"currentModeId": "fake-mode", "availableModes": modes},
        "configOptions": [flag, {**model, "currentValue": agent.model}],
    }


def _set(agent: FakeAgent, request: dict[str, Any]) -> None:
    if request["method"] == "session/set_mode":
        agent.record("mode", mode=request["params"]["modeId"])
        _answer(agent, request, {})
    elif request["params"]["value"] not in (MODEL, "fake-2"):
        _refuse(agent, request, -32602, "Invalid params")
    else:
        agent.model = request["params"]["value"]
        agent.record("model", model=agent.model)
        _answer(agent, request, {"configOptions": _settings(agent)["configOptions"]})


def _ask_permission(agent: FakeAgent, call: str, kind: str, asked: dict[str, str], **more: Any) -> bool:
    tool = {"toolCallId": call, "title": TITLES[kind], "kind": kind, "status": "pending", **more}
    _update(agent, "tool_call", **tool)
    offered = [{"optionId": f"{kind}-{name}", "name": name, "kind": name} for name in _CHOICES]
    params = {"sessionId": agent.session_id, "toolCall": {**tool, "rawInput": asked}, "options": offered}
    agent.notes["asks"] += 1
    number = f"ask-{agent.notes['asks']}"
    _send(agent, {"id": number, "method": "session/request_permission", "params": params})
    outcome = _answer_to(number)["outcome"]
    agent.record("permission", kind=kind, outcome=outcome)
    return outcome.get("optionId") == f"{kind}-allow_once"


_CHOICES = ("allow_always", "allow_once", "reject_once")


def _answer_to(number: str) -> dict[str, Any]:
    while True:
        response = _next_message()
        if response.get("id") == number:
            return response["result"]


def _next_message() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        raise SystemExit(0)
    return json.loads(line)


def _update(agent: FakeAgent, update: str, **members: Any) -> None:
    params = {"sessionId": agent.session_id, "update": {"sessionUpdate": update, **members}}
    _notify(agent, "session/update", params)


def _notify(agent: FakeAgent, method: str, params: dict[str, Any]) -> None:
    _send(agent, {"method": method, "params": params})


def _answer(agent: FakeAgent, request: dict[str, Any], result: dict[str, Any]) -> None:
    _send(agent, {"id": request.get("id"), "result": result})


def _refuse(agent: FakeAgent, request: dict[str, Any], code: int, message: str, data: Any = None) -> None:
    _send(agent, {"id": request.get("id"), "error": {"code": code, "message": message, "data": data}})


def _send(agent: FakeAgent, members: dict[str, Any]) -> None:
    agent.print_line({"jsonrpc": "2.0", **members})
