"""What `cursor-agent --output-format stream-json` prints, by its documentation."""

from __future__ import annotations

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from ostler.executors.hearing import Hearing
from ostler.executors.tool_input import summary_of
from ostler.executors.wire import read


class _Block(Struct, frozen=True):
    type: str = ""
    text: str = ""


class _Message(Struct, frozen=True):
    content: list[_Block] = []


class _Outcome(Struct, frozen=True):
    """A tool's result: one of these members is there."""

    rejected: dict[str, object] | None = None
    denied: dict[str, object] | None = field(default=None, name="permissionDenied")
    success: Raw = Raw()
    error: Raw = Raw()


class _Told(Struct, frozen=True):
    """The members of an outcome that people read, whichever of them the tool has."""

    content: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    message: str | None = None
    camel_message: str | None = field(default=None, name="errorMessage")


class _Use(Struct, frozen=True):
    name: str = ""  # of a tool that is not built in
    args: Raw = Raw()
    result: _Outcome = _Outcome()


class _Line(Struct, frozen=True):
    type: str = ""
    subtype: str = ""
    session_id: str = ""
    model: str = ""
    message: _Message = _Message()
    call_id: str = ""
    tool_call: dict[str, Raw] = {}
    result: str = ""
    is_error: bool = False


_LINE = Decoder(_Line)
_USE = Decoder(_Use)
_TOLD = Decoder(_Told)


def decode(line: bytes, heard: Hearing) -> bool:
    """Read one line; True when it is the result."""
    said = read(_LINE, line)
    if said is None:
        heard.miss(line)
        return False
    match said.type:
        case "system" if said.subtype == "init":
            heard.begin(said.session_id, said.model)
        case "assistant":
            heard.say("".join(block.text for block in said.message.content if block.type == "text"))
        case "tool_call":
            _hear_tool(said, heard)
        case "result":
            return _hear_result(said, heard)
        case _:
            pass  # the prompt's echo, thinking: in the transcript
    return False


def _hear_tool(said: _Line, heard: Hearing) -> None:
    """The tool is the one member of tool_call: readToolCall, shellToolCall, function, ..."""
    for kind, raw in said.tool_call.items():
        use = read(_USE, raw) or _Use()
        name = use.name or kind.removesuffix("ToolCall")
        if said.subtype == "started":
            heard.use(name, summary_of(use.args), said.call_id, use.args)
        elif use.result.rejected is not None or use.result.denied is not None:
            heard.deny(said.call_id, summary_of(use.args), name)
        else:
            failed = bool(bytes(use.result.error))
            outcome = use.result.error if failed else use.result.success
            heard.receive(said.call_id, _words(outcome), failed=failed)


def _words(outcome: Raw) -> str:
    """What an outcome says, or all of it where it says nothing that we know."""
    told = read(_TOLD, outcome) or _Told()
    members: list[str | None] = [getattr(told, name) for name in _Told.__struct_fields__]
    return "\n".join(filter(None, members)) or bytes(outcome).decode("utf-8", "replace")


def _hear_result(said: _Line, heard: Hearing) -> bool:
    """The result repeats all that was said: the last message is the answer, what follows it the error."""
    heard.begin(said.session_id)
    if said.is_error:
        heard.fail(said.result.rpartition(heard.text)[2] if heard.text else said.result)
    elif not heard.text:
        heard.text = said.result
    return heard.finish()
