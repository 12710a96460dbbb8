"""What an ACP agent tells while it works on a prompt: the notification session/update."""

from __future__ import annotations

from msgspec import Raw, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from ostler.executors.acp_tool import Tool, merge
from ostler.executors.hearing import Hearing
from ostler.executors.wire import read


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


class _Spent(Struct, frozen=True):
    cost: _Cost | None = None


_PARAMS, _KIND, _CHUNK = Decoder(_Params), Decoder(_Kind), Decoder(_Chunk)
_SPENT, _TOOL = Decoder(_Spent), Decoder(Tool)


class Updates:
    """Reads updates into a Hearing, each tool told once, when it is known what it does."""

    def __init__(self, heard: Hearing) -> None:
        self._heard = heard
        self._message_id: str | None = None
        self._tools: dict[str, Tool] = {}
        self._told: set[str] = set()
        self._over: set[str] = set()
        self.replayed = False
        self.session_cost_usd = 0.0  # as last told; 0: the agent knows no price

    def take(self, params: Raw, session_id: str) -> None:
        """One update; those of other sessions and of kinds that we do not know are passed over."""
        said = read(_PARAMS, params)
        if said is None or said.session_id != session_id:
            return
        kind = read(_KIND, said.update) or _Kind()
        match kind.session_update:
            case "agent_message_chunk":
                self._hear_piece(read(_CHUNK, said.update) or _Chunk())
            case "agent_thought_chunk":
                self._heard.end_message()
            case "tool_call" | "tool_call_update":
                self.learn(read(_TOOL, said.update) or Tool())
            case "usage_update":
                self._hear_cost(read(_SPENT, said.update) or _Spent())
            case _:
                pass  # plans, modes, commands, titles: in the transcript

    def watch_replay(self, params: Raw) -> None:
        """One update of a session that is loaded; nothing of it is told again."""
        said = read(_PARAMS, params) or _Params()
        kind = read(_KIND, said.update) or _Kind()
        self.replayed = self.replayed or kind.session_update.endswith("_message_chunk")

    def learn(self, news: Tool) -> Tool:
        """More about a tool; all that is known of it now."""
        self._heard.end_message()
        tool = merge(self._tools.get(news.tool_call_id, news), news)
        self._tools[news.tool_call_id] = tool
        if tool.summary or tool.over:
            self.tell(tool)
        if tool.over and tool.tool_call_id not in self._over:
            self._over.add(tool.tool_call_id)
            shown = replace(news, raw_output=tool.raw_output)
            self._heard.receive(tool.tool_call_id, shown.outcome, failed=tool.status == "failed")
        return tool

    def tell(self, tool: Tool) -> None:
        """Say that this tool is used, if that was not said before."""
        if tool.tool_call_id not in self._told:
            self._told.add(tool.tool_call_id)
            self._heard.use(tool.name, tool.detail, tool.tool_call_id, tool.given)

    def close(self) -> None:
        """Tell what was held back."""
        for tool in self._tools.values():
            self.tell(tool)

    def _hear_piece(self, chunk: _Chunk) -> None:
        if chunk.message_id != self._message_id:
            self._heard.end_message()
            self._message_id = chunk.message_id
        if chunk.content.text:
            self._heard.say_more(chunk.content.text)

    def _hear_cost(self, spent: _Spent) -> None:
        if spent.cost and spent.cost.currency == "USD":
            self.session_cost_usd = spent.cost.amount
