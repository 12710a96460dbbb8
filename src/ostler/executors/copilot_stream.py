"""What `copilot --output-format json` prints, line by line."""

from __future__ import annotations

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from ostler.errors import Code
from ostler.executors.failure import code_of_failure
from ostler.executors.hearing import Hearing
from ostler.executors.tool_input import summary_of
from ostler.executors.wire import read


class _Error(Struct, frozen=True):
    message: str = ""
    code: str = ""


class _Result(Struct, frozen=True):
    content: str = ""


class _Data(Struct, frozen=True):
    """The members of all bodies that we read."""

    model: str = ""
    content: str = ""
    message: str = ""
    error_message: str = field(default="", name="errorMessage")
    status: int | None = field(default=None, name="statusCode")
    tool: str = field(default="", name="toolName")
    call: str = field(default="", name="toolCallId")
    arguments: Raw = Raw()
    error: _Error | None = None
    success: bool = True
    result: _Result = _Result()


class _Line(Struct, frozen=True):
    type: str = ""
    data: Raw = Raw()
    session_id: str = field(default="", name="sessionId")
    exit_code: int | None = field(default=None, name="exitCode")


_LINE = Decoder(_Line)
_DATA = Decoder(_Data)


def decode(line: bytes, heard: Hearing) -> bool:
    """Read one line; True when it is the result."""
    said = read(_LINE, line)
    if said is None:
        heard.miss(line)
        return False
    if said.type == "result":
        heard.begin(said.session_id)
        return heard.finish(well=said.exit_code == 0)
    if said.type in _READ:
        _hear(said.type, read(_DATA, said.data) or _Data(), heard)
    return False


_READ = frozenset(
    {
        "session.tools_updated",
        "session.error",
        "assistant.message",
        "model.call_failure",
        "tool.execution_start",
        "tool.execution_complete",
    }
)


def _hear(kind: str, data: _Data, heard: Hearing) -> None:
    match kind:
        case "session.tools_updated":
            heard.begin(heard.asked_id, data.model)
        case "assistant.message":
            heard.say(data.content)
        case "tool.execution_start":
            heard.use(data.tool, summary_of(data.arguments), data.call, data.arguments)
        case "tool.execution_complete" if data.error is not None and data.error.code == "denied":
            heard.deny(data.call, data.error.message)
        case "tool.execution_complete":
            told = data.result.content or (data.error.message if data.error else "")
            heard.receive(data.call, told, failed=not data.success)
        case "model.call_failure":
            heard.wait(code_of_failure(data.error_message, data.status) or Code.API_ERROR)
        case "session.error":
            heard.fail(data.message, data.status)
        case _:
            pass
