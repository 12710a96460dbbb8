"""What `codex exec --json` prints, line by line."""

from __future__ import annotations

import re

from msgspec import Raw, Struct
from msgspec.json import Decoder

from ostler.errors import Code
from ostler.executors.failure import code_of_failure
from ostler.executors.hearing import Hearing
from ostler.executors.tool_input import given
from ostler.executors.wire import read
from ostler.model.usage import Usage

_RECONNECTING = re.compile(r"Reconnecting\W+\d+/\d+ *\(?(.*?)\)?$", re.DOTALL)


class _Change(Struct, frozen=True):
    path: str = ""
    kind: str = ""


class _Piece(Struct, frozen=True):
    text: str = ""


class _Result(Struct, frozen=True):
    content: list[_Piece] = []


class _Trouble(Struct, frozen=True):
    message: str = ""


class _Item(Struct, frozen=True):
    id: str = ""
    type: str = ""
    text: str = ""
    message: str = ""
    command: str = ""
    status: str = ""
    server: str = ""
    tool: str = ""
    query: str = ""
    changes: list[_Change] = []
    arguments: Raw = Raw(b"null")
    aggregated_output: str = ""
    exit_code: int | None = None
    result: _Result | None = None
    error: _Trouble | None = None

    @property
    def outcome(self) -> str:
        """What came of a tool, in words."""
        pieces = [piece.text for piece in self.result.content] if self.result else []
        return self.aggregated_output or "\n".join(pieces) or (self.error.message if self.error else "")

    @property
    def failed(self) -> bool:
        return self.status == "failed" or bool(self.exit_code)


class _Tokens(Struct, frozen=True):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0

    def usage(self) -> Usage:
        """Here what was read from the cache, or written to it, is input too; we count each token once."""
        cached = self.cached_input_tokens + self.cache_write_input_tokens
        fresh = max(0, self.input_tokens - cached)
        return Usage(fresh, self.output_tokens, self.cached_input_tokens, self.cache_write_input_tokens)


class _Error(Struct, frozen=True):
    message: str = ""


class _Line(Struct, frozen=True):
    type: str = ""
    thread_id: str = ""
    message: str = ""
    item: _Item = _Item()
    usage: _Tokens = _Tokens()
    error: _Error = _Error()


_LINE = Decoder(_Line)


def decode(line: bytes, heard: Hearing) -> bool:
    """Read one line; True when the turn is over."""
    said = read(_LINE, line)
    if said is None:
        heard.miss(line)
        return False
    match said.type:
        case "thread.started":
            heard.begin(said.thread_id)
        case "item.started" | "item.completed":
            _hear_item(said.item, heard, done=said.type == "item.completed")
        case "error":
            _hear_error(said.message, heard)
        case "turn.completed":
            heard.count_session(said.usage.usage())
            return heard.finish(well=True)
        case "turn.failed":
            heard.fail(said.error.message)
            return heard.finish()
        case _:
            pass  # turn.started, item.updated: in the transcript
    return False


def _hear_item(item: _Item, heard: Hearing, *, done: bool) -> None:
    """A message counts when it is whole; a tool is told once, when it starts or, without a start, ends."""
    if item.type == "agent_message":
        if done:
            heard.say(item.text)
    elif item.type in _TOOLS:
        _hear_tool(item, heard, done=done)


def _hear_tool(item: _Item, heard: Hearing, *, done: bool) -> None:
    tool, detail = _TOOLS[item.type], _detail(item)
    if done and item.status == "declined":
        heard.deny(item.id, detail, tool)
        return
    if not heard.knows(item.id):
        heard.use(tool, detail, item.id, _given(item))
    if done:
        heard.receive(item.id, item.outcome, failed=item.failed)


def _detail(item: _Item) -> str:
    changed = ", ".join(change.path for change in item.changes)
    return item.command or changed or item.query or f"{item.server} {item.tool}".strip()


def _given(item: _Item) -> Raw:
    call = {"tool": item.tool, "arguments": item.arguments} if item.tool else {}
    return given(command=item.command, changes=item.changes, query=item.query, server=item.server, **call)


_TOOLS = {
    "command_execution": "shell",
    "file_change": "edit",
    "mcp_tool_call": "mcp",
    "web_search": "web_search",
}


def _hear_error(message: str, heard: Hearing) -> None:
    """While codex reconnects an error is a warning; the last one comes again as turn.failed."""
    if found := _RECONNECTING.match(message):
        heard.wait(code_of_failure(found[1]) or Code.NETWORK)
    else:
        heard.fail(message)
