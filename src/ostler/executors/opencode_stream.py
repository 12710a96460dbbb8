"""What `opencode run --format json` prints, line by line."""

from __future__ import annotations

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from ostler.executors.hearing import Hearing
from ostler.executors.tool_input import summary_of
from ostler.executors.wire import read
from ostler.model.usage import Usage

_REFUSED = ("rejected permission", "prevents you from using")


class _Cache(Struct, frozen=True):
    read: int = 0
    write: int = 0


class _Tokens(Struct, frozen=True):
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: _Cache = _Cache()

    def usage(self) -> Usage:
        return Usage(self.input, self.output + self.reasoning, self.cache.read, self.cache.write)


class _Invalid(Struct, frozen=True):
    """The input of the tool that stands for one that is not offered."""

    tool: str = ""
    error: str = ""


class _State(Struct, frozen=True):
    status: str = ""
    input: Raw = Raw()
    output: str = ""
    error: str = ""


class _Part(Struct, frozen=True):
    text: str = ""
    tool: str = ""
    call: str = field(default="", name="callID")
    state: _State = _State()
    reason: str = ""
    tokens: _Tokens = _Tokens()
    cost: float = 0.0


class _ErrorData(Struct, frozen=True):
    message: str = ""
    status: int | None = field(default=None, name="statusCode")


class _Error(Struct, frozen=True):
    name: str = ""
    data: _ErrorData = _ErrorData()


class _Line(Struct, frozen=True):
    type: str = ""
    session_id: str = field(default="", name="sessionID")
    part: _Part = _Part()
    error: _Error = _Error()


_LINE = Decoder(_Line)
_INVALID = Decoder(_Invalid)


def decode(line: bytes, heard: Hearing) -> bool:
    """Read one line; True when the last step is over."""
    said = read(_LINE, line)
    if said is None:
        heard.miss(line)
        return False
    heard.begin(said.session_id)
    match said.type:
        case "text":
            heard.say_more(said.part.text)
        case "tool_use":
            _hear_tool(said.part, heard)
        case "step_finish":
            return _hear_finish(said.part, heard)
        case "error":
            heard.fail(f"{said.error.name}: {said.error.data.message}", said.error.data.status)
        case _:
            pass  # step_start, reasoning: in the transcript
    return False


def _hear_tool(part: _Part, heard: Hearing) -> None:
    """What is denied is not offered: a model that calls it all the same has used the tool `invalid`."""
    asked = read(_INVALID, part.state.input) if part.tool == "invalid" else None
    state, failed = part.state, part.state.status == "error"
    heard.use(asked.tool if asked else part.tool, summary_of(state.input), part.call, state.input)
    if asked and "unavailable tool" in asked.error:
        heard.deny(part.call, asked.error)
    if failed and any(word in state.error for word in _REFUSED):
        heard.deny(part.call, state.error)
    else:
        heard.receive(part.call, state.output or state.error, failed=failed)


def _hear_finish(part: _Part, heard: Hearing) -> bool:
    """A step's tokens and money; its reason says whether another one follows."""
    heard.count(part.tokens.usage())
    if part.cost > 0:
        heard.charge(part.cost)
    if part.reason == "content-filter":
        heard.fail("content filter")
    heard.truncated = part.reason == "length"
    return heard.finish() if part.reason != "tool-calls" else False
