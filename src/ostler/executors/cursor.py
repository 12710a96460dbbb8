"""Cursor's agent, headless: `cursor-agent --print --output-format stream-json`, with the prompt on stdin.

Written from Cursor's documentation (cursor.com/docs/cli) and not tested with the real program, which needs an
account. By the documentation the first line has the id of the chat, `--resume ID` continues it, and a failure
is a text on stderr and an exit code that is not 0, without JSON. For a version that needs `--chat-id` or
`--trust`, set executors.cursor.args. Print mode has no flag for edits alone: with accept-edits
.cursor/cli.json decides.
"""

from __future__ import annotations

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from ostler.errors import Code
from ostler.executors.agent_json import decode_json, summarize_input
from ostler.executors.discover import CURSOR
from ostler.executors.failures import FailureTable, text_rules
from ostler.executors.output import OutputFormat
from ostler.executors.program.executor import ProgramExecutor
from ostler.executors.program.spec import AgentSpec, LaunchOptions, decode_with
from ostler.executors.protocol import Capabilities
from ostler.executors.sandboxed.others import CURSOR_NEEDS
from ostler.executors.stream_state import StreamState
from ostler.model.call import Permissions


class _Block(Struct, frozen=True):
    type: str = ""
    text: str = ""


class _Message(Struct, frozen=True):
    content: list[_Block] = []


class _ToolResult(Struct, frozen=True):
    """The result of a tool: one of these members is set."""

    rejected: dict[str, object] | None = None
    denied: dict[str, object] | None = field(default=None, name="permissionDenied")
    success: Raw = Raw()
    error: Raw = Raw()


class _ResultText(Struct, frozen=True):
    """The members of a result that hold text."""

    content: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    message: str | None = None
    camel_message: str | None = field(default=None, name="errorMessage")


class _Use(Struct, frozen=True):
    name: str = ""  # of a tool that is not built in
    args: Raw = Raw()
    result: _ToolResult = _ToolResult()


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
_RESULT_TEXT = Decoder(_ResultText)


def decode(line: bytes, state: StreamState) -> bool:
    """Read one line; return True when it is the result."""
    event = decode_json(_LINE, line)
    if event is None:
        state.skip_line(line)
        return False
    match event.type:
        case "system" if event.subtype == "init":
            state.start_session(event.session_id, event.model)
        case "assistant":
            state.add_message("".join(block.text for block in event.message.content if block.type == "text"))
        case "tool_call":
            _read_tool(event, state)
        case "result":
            return _read_result(event, state)
        case _:
            # The echo of the prompt, thinking: only in the transcript.
            pass
    return False


def _read_tool(event: _Line, state: StreamState) -> None:
    # tool_call has one member, which is named after the tool: readToolCall, shellToolCall, function, ...
    for kind, raw in event.tool_call.items():
        use = decode_json(_USE, raw) or _Use()
        name = use.name or kind.removesuffix("ToolCall")
        if event.subtype == "started":
            state.add_tool_use(name, summarize_input(use.args), event.call_id, use.args)
        elif use.result.rejected is not None or use.result.denied is not None:
            state.deny_tool(event.call_id, summarize_input(use.args), name)
        else:
            failed = bool(bytes(use.result.error))
            result = use.result.error if failed else use.result.success
            state.add_tool_result(event.call_id, _result_text(result), failed=failed)


def _result_text(result: Raw) -> str:
    """Return the text of a result, or its JSON when no member holds text."""
    found = decode_json(_RESULT_TEXT, result) or _ResultText()
    members: list[str | None] = [getattr(found, name) for name in _ResultText.__struct_fields__]
    return "\n".join(filter(None, members)) or bytes(result).decode("utf-8", "replace")


def _read_result(event: _Line, state: StreamState) -> bool:
    # The result repeats all messages: the last one is the answer, and what follows it is the error.
    state.start_session(event.session_id)
    if event.is_error:
        state.fail(event.result.rpartition(state.text)[2] if state.text else event.result)
    elif not state.text:
        state.text = event.result
    return state.finish()


CAPABILITIES = Capabilities(resumes=True, environment=("CURSOR_*",))

_PERMISSIONS: dict[Permissions, tuple[str, ...]] = {
    "ask": ("--mode", "ask"),
    "accept-edits": (),
    "skip": ("--force",),
}

OUTPUT = OutputFormat(
    program="cursor-agent",
    decode=decode,
    failures=FailureTable(
        rules=text_rules(
            {
                r"(chat|session|conversation).{0,60}(not found|does not exist)": Code.SESSION_NOT_FOUND,
                r"cursor_api_key|cursor-agent login|agent login": Code.AUTH_FAILED,
            }
        )
    ),
)


def arguments(options: LaunchOptions) -> tuple[str, ...]:
    """Return the arguments of one start."""
    return (
        *("--print", "--output-format", "stream-json"),
        *_PERMISSIONS[options.permissions],
        *(("--model", options.model) if options.model else ()),
        *(("--resume", options.session_id) if options.resume else ()),
    )


class CursorExecutor(ProgramExecutor):
    """Runs cursor-agent."""

    spec = AgentSpec(CURSOR, CAPABILITIES, arguments, decode_with(OUTPUT), sandbox=CURSOR_NEEDS)
