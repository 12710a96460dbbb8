"""What `gemini --output-format stream-json` prints, line by line."""

from __future__ import annotations

from msgspec import Raw, Struct
from msgspec.json import Decoder

from ostler.executors.hearing import Hearing
from ostler.executors.tool_input import summary_of
from ostler.executors.wire import read
from ostler.model.usage import Usage

_NOT_OFFERED = ("tool_not_registered", "permission_denied", "policy_violation", "execution_denied")


class _Error(Struct, frozen=True):
    type: str = ""
    message: str = ""


class _Stats(Struct, frozen=True):
    total_tokens: int = 0
    input_tokens: int = 0  # with what came from the cache
    cached: int = 0
    output_tokens: int = 0  # without thoughts, which cost the same

    def usage(self) -> Usage:
        thoughts = max(0, self.total_tokens - self.input_tokens - self.output_tokens)
        return Usage(max(0, self.input_tokens - self.cached), self.output_tokens + thoughts, self.cached)


class _Line(Struct, frozen=True):
    type: str = ""
    session_id: str = ""
    model: str = ""
    role: str = ""
    content: str = ""
    delta: bool = False
    tool_name: str = ""
    tool_id: str = ""
    parameters: Raw = Raw()
    status: str = ""
    output: str = ""
    severity: str = ""
    message: str = ""
    error: _Error | None = None
    stats: _Stats = _Stats()


_LINE = Decoder(_Line)


def decode(line: bytes, heard: Hearing) -> bool:
    """Read one line; True when it is the result."""
    said = read(_LINE, line)
    if said is None:
        heard.miss(line)
        return False
    match said.type:
        case "init":
            heard.begin(said.session_id, said.model)
        case "message" if said.role == "assistant":
            heard.say_more(said.content) if said.delta else heard.say(said.content)
        case "tool_use":
            heard.use(said.tool_name, summary_of(said.parameters), said.tool_id, said.parameters)
        case "tool_result" if said.error is not None and said.error.type in _NOT_OFFERED:
            heard.deny(said.tool_id, said.error.message)
        case "tool_result":
            told = said.output or (said.error.message if said.error else "")
            heard.receive(said.tool_id, told, failed=said.status == "error")
        case "error" if said.severity == "error":
            heard.fail(said.message)
        case "result":
            return _hear_result(said, heard)
        case _:
            pass  # the prompt's echo, warnings: in the transcript
    return False


def _hear_result(said: _Line, heard: Hearing) -> bool:
    heard.count(said.stats.usage())
    if said.status == "error" and heard.failure is None:
        heard.fail(said.error.message if said.error else said.message)
    return heard.finish(well=said.status == "success")
