"""An agent that speaks the Agent Client Protocol: it is asked, and asks back.

Besides the faults, behaviour["handshake"] names what is odd about it: auth (wants a login first), version (of
another protocol), forgetful (keeps no sessions), loads (replays a session instead of resuming it), boasts
(says that it resumes, but only loads, even what it never had), polite (says an error as if it answered).
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
    """Answer requests until a prompt comes; the end of the input is the end of the agent."""
    while True:
        said = _next_message()
        match said.get("method"):
            case "initialize":
                _answer(agent, said, _introduction(agent))
            case "session/new" | "session/load" | "session/resume":
                _open(agent, said)
            case "session/set_config_option" | "session/set_mode":
                _set(agent, said)
            case "session/prompt":
                agent.notes["prompt"] = said
                return "".join(part["text"] for part in said["params"]["prompt"])
            case _:
                pass


def unknown_session(agent: FakeAgent) -> int:
    raise AssertionError(f"session {agent.session_id} was opened and is not there")


def taken_session(agent: FakeAgent) -> int:
    raise AssertionError(f"a new session has the old id {agent.session_id}")


def init(agent: FakeAgent) -> None:
    _notify(agent, "fake/notify/progress", {"anything": [1]})
    _update(agent, "plan", entries=[])


def text(agent: FakeAgent, text: str) -> None:
    half, message = len(text) // 2, str(uuid.uuid4())
    for piece in (text[:half], text[half:]):
        _update(agent, "agent_message_chunk", messageId=message, content={"type": "text", "text": piece})


def tool_started(agent: FakeAgent, path: str) -> bool:
    """Whether the client allows it."""
    place = os.path.abspath(path)  # noqa: PTH100  (pathlib costs the fake a fifth of its start)
    return _ask_permission(agent, path, "edit", {"file_path": place}, locations=[{"path": place}])


def tool_done(agent: FakeAgent, path: str) -> None:
    _update(agent, "tool_call_update", toolCallId=path, status="completed")


def denied(agent: FakeAgent) -> None:
    allowed = _ask_permission(agent, "call-1", "execute", {"command": "make"})
    said = "I ran it." if allowed else "I was not allowed to."
    text(agent, said)
    result(agent, said)


def result(agent: FakeAgent, text: str) -> None:
    """It also says what the whole session has cost."""
    del text  # the pieces were told
    total = agent.charge(agent["cost_usd"])
    _update(agent, "usage_update", used=15, size=1000, cost={"amount": total, "currency": "USD"})
    usage = {"totalTokens": 15, "inputTokens": 10, "outputTokens": 5}
    _answer(
        agent,
        agent.notes["prompt"],
        {"stopReason": agent.behaviour.get("stop_reason", "end_turn"), "usage": usage},
    )


def api_error(agent: FakeAgent) -> int:
    """In the text of an internal error; copilot says it as if it were an answer."""
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


def _open(agent: FakeAgent, said: dict[str, Any]) -> None:
    if agent.behaviour.get("handshake") == "auth":
        _refuse(agent, said, -32000, "Authentication required")
        return
    if agent.behaviour.get("handshake") == "boasts" and said["method"] == "session/resume":
        _refuse(agent, said, -32601, "Method not found", {"method": said["method"]})
        return
    agent.resumed = said["method"] != "session/new"
    agent.session_id = said["params"].get("sessionId", agent.session_id)
    lost = agent.resumed and (agent["fault"] == "a25_forgets" or not agent.recall())
    if lost and agent.behaviour.get("handshake") != "boasts":
        _refuse(agent, said, -32002, "Resource not found", {"uri": agent.session_id})
        return
    if said["method"] == "session/load" and not lost:
        text(agent, "an old answer")
    _answer(agent, said, {**({} if agent.resumed else {"sessionId": agent.session_id}), **_settings(agent)})


def _settings(agent: FakeAgent) -> dict[str, Any]:
    modes = [{"id": "fake-mode", "name": "Fake"}]
    models = [{"value": name, "name": name} for name in (MODEL, "fake-2")]
    model = {"id": "model", "name": "Model", "category": "model", "type": "select", "options": models}
    flag = {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": False}
    return {
        "modes": {"currentModeId": "fake-mode", "availableModes": modes},
        "configOptions": [flag, {**model, "currentValue": agent.model}],
    }


def _set(agent: FakeAgent, said: dict[str, Any]) -> None:
    if said["method"] == "session/set_mode":
        agent.record("mode", mode=said["params"]["modeId"])
        _answer(agent, said, {})
    elif said["params"]["value"] not in (MODEL, "fake-2"):
        _refuse(agent, said, -32602, "Invalid params")
    else:
        agent.model = said["params"]["value"]
        agent.record("model", model=agent.model)
        _answer(agent, said, {"configOptions": _settings(agent)["configOptions"]})


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
        said = _next_message()
        if said.get("id") == number:
            return said["result"]


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


def _answer(agent: FakeAgent, said: dict[str, Any], result: dict[str, Any]) -> None:
    _send(agent, {"id": said.get("id"), "result": result})


def _refuse(agent: FakeAgent, said: dict[str, Any], code: int, message: str, data: Any = None) -> None:
    _send(agent, {"id": said.get("id"), "error": {"code": code, "message": message, "data": data}})


def _send(agent: FakeAgent, members: dict[str, Any]) -> None:
    agent.print_line({"jsonrpc": "2.0", **members})
