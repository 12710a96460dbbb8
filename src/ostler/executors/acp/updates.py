"""Reads the notification session/update, which an ACP agent sends while it works on a prompt."""

from __future__ import annotations

from msgspec import Raw, Struct, field
from msgspec.json import Decoder
from msgspec.structs import replace

from ostler.errors import Code
from ostler.executors.acp.tools import ToolCall, merge_tool_call
from ostler.executors.agent_json import decode_json
from ostler.executors.failures import classify_failure
from ostler.executors.stream_state import StreamState
from ostler.executors.todos import read_todos


class _Content(Struct, frozen=True):
    type: str = ""
    text: str = ""


class _Cost(Struct, frozen=True):
    amount: float = 0.0
    currency: str = ""


class _Kind(Struct, frozen=True, rename="camel"):
    session_update: str = ""


class _Params(Struct, frozen=True, rename="camel"):
    session_id: str = ""
    update: Raw = Raw()


class _Chunk(Struct, frozen=True, rename="camel"):
    content: _Content = _Content()
    message_id: str | None = None


class _Plan(Struct, frozen=True):
    entries: list[dict[str, object]] = []


class _UsageUpdate(Struct, frozen=True):
    cost: _Cost | None = None


class _AgentError(Struct, frozen=True, rename="camel"):
    message: str = ""
    additional_details: str | None = None
    will_retry: bool = False


class _CodexMeta(Struct, frozen=True):
    error: _AgentError | None = None


class _Meta(Struct, frozen=True):
    codex: _CodexMeta = _CodexMeta()


class _SessionInfo(Struct, frozen=True):
    meta: _Meta = field(default=_Meta(), name="_meta")


_PARAMS, _KIND, _CHUNK = Decoder(_Params), Decoder(_Kind), Decoder(_Chunk)
_USAGE_UPDATE, _TOOL_CALL = Decoder(_UsageUpdate), Decoder(ToolCall)
_SESSION_INFO, _PLAN = Decoder(_SessionInfo), Decoder(_Plan)


class UpdateReader:
    """Reads updates into a StreamState; a tool sends one event, as soon as its input is complete."""

    def __init__(self, state: StreamState) -> None:
        self._state = state
        self._message_id: str | None = None
        self._tools: dict[str, ToolCall] = {}
        self._reported: set[str] = set()
        self._finished: set[str] = set()
        self._thoughts: list[str] = []
        self.replayed = False
        self.session_cost_usd = 0.0  # 0: the agent has no price

    def read(self, params: Raw, session_id: str) -> None:
        """Read one update; those of other sessions and of unknown kinds are ignored."""
        notification = decode_json(_PARAMS, params)
        if notification is None or notification.session_id != session_id:
            return
        kind = decode_json(_KIND, notification.update) or _Kind()
        if kind.session_update != "agent_thought_chunk":
            self._end_thought()
        match kind.session_update:
            case "agent_message_chunk":
                self._read_chunk(decode_json(_CHUNK, notification.update) or _Chunk())
            case "agent_thought_chunk":
                self._state.end_message()
                chunk = decode_json(_CHUNK, notification.update) or _Chunk()
                self._thoughts.append(chunk.content.text)
            case "plan":
                plan = decode_json(_PLAN, notification.update) or _Plan()
                self._state.set_todos(read_todos(plan.entries))
            case "tool_call" | "tool_call_update":
                self.update_tool(decode_json(_TOOL_CALL, notification.update) or ToolCall())
            case "usage_update":
                self._read_cost(decode_json(_USAGE_UPDATE, notification.update) or _UsageUpdate())
            case "session_info_update":
                self._read_info(decode_json(_SESSION_INFO, notification.update) or _SessionInfo())
            case _:
                # Modes, commands, titles: only in the transcript.
                pass

    def watch_replay(self, params: Raw) -> None:
        """Read one update of a session that is loaded; its history sends no events."""
        notification = decode_json(_PARAMS, params) or _Params()
        kind = decode_json(_KIND, notification.update) or _Kind()
        self.replayed = self.replayed or kind.session_update.endswith("_message_chunk")

    def update_tool(self, news: ToolCall) -> ToolCall:
        """Add an update of a tool call, and return the whole call."""
        self._state.end_message()
        tool = merge_tool_call(self._tools.get(news.tool_call_id, news), news)
        self._tools[news.tool_call_id] = tool
        if tool.summary or tool.is_finished:
            self.report_tool(tool)
        if tool.is_finished and tool.tool_call_id not in self._finished:
            self._finished.add(tool.tool_call_id)
            last = replace(news, raw_output=tool.raw_output)
            self._state.add_tool_result(tool.tool_call_id, last.outcome, failed=tool.status == "failed")
        return tool

    def report_tool(self, tool: ToolCall) -> None:
        """Send the event of a tool call once."""
        if tool.tool_call_id not in self._reported:
            self._reported.add(tool.tool_call_id)
            self._state.add_tool_use(tool.name, tool.detail, tool.tool_call_id, tool.input)

    def close(self) -> None:
        """Send the events that were delayed."""
        self._end_thought()
        for tool in self._tools.values():
            self.report_tool(tool)

    def _end_thought(self) -> None:
        if self._thoughts:
            self._state.add_thinking("".join(self._thoughts))
            self._thoughts.clear()

    def _read_chunk(self, chunk: _Chunk) -> None:
        if chunk.message_id != self._message_id:
            self._state.end_message()
            self._message_id = chunk.message_id
        if chunk.content.text:
            self._state.add_text(chunk.content.text)

    def _read_info(self, info: _SessionInfo) -> None:
        # codex-acp reports the retries of codex here; other agents send titles.
        error = info.meta.codex.error
        if error is not None and error.will_retry:
            text = f"{error.message} ({error.additional_details or ''})"
            self._state.report_retry(classify_failure(text) or Code.NETWORK, text=text)

    def _read_cost(self, update: _UsageUpdate) -> None:
        if update.cost and update.cost.currency == "USD":
            self.session_cost_usd = update.cost.amount
