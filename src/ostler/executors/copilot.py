"""GitHub Copilot CLI, headless: `copilot --output-format json`, with the prompt on stdin.

With an id that exists copilot resumes that session and does not report it. Copilot redacts its API key in its
output, so a key of one or two characters makes the output unreadable.
"""

from __future__ import annotations

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from ostler.errors import Code
from ostler.executors.agent_json import decode_json, summarize_input
from ostler.executors.discover import COPILOT
from ostler.executors.failures import FailureTable, classify_failure, text_rules
from ostler.executors.output import OutputFormat
from ostler.executors.program.executor import ProgramExecutor
from ostler.executors.program.spec import AgentSpec, LaunchOptions, decode_with
from ostler.executors.protocol import Capabilities
from ostler.executors.sandboxed.others import COPILOT_NEEDS
from ostler.executors.stream_state import StreamState
from ostler.model.call import Permissions


class _Error(Struct, frozen=True):
    message: str = ""
    code: str = ""


class _Result(Struct, frozen=True):
    content: str = ""


class _Data(Struct, frozen=True):
    """The members of all events that are read."""

    model: str = ""
    content: str = ""
    message: str = ""
    error_message: str = field(default="", name="errorMessage")
    status: int | None = field(default=None, name="statusCode")
    failure: str = field(default="", name="failureKind")
    tool: str = field(default="", name="toolName")
    use_id: str = field(default="", name="toolCallId")
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


def decode(line: bytes, state: StreamState) -> bool:
    """Read one line; return True when it is the result."""
    event = decode_json(_LINE, line)
    if event is None:
        state.skip_line(line)
        return False
    if event.type == "result":
        state.start_session(event.session_id)
        return state.finish(succeeded=event.exit_code == 0)
    if event.type in _EVENTS:
        _read_data(event.type, decode_json(_DATA, event.data) or _Data(), state)
    return False


_EVENTS = frozenset(
    {
        "session.tools_updated",
        "session.error",
        "assistant.message",
        "model.call_failure",
        "tool.execution_start",
        "tool.execution_complete",
    }
)


def _read_data(kind: str, data: _Data, state: StreamState) -> None:
    match kind:
        case "session.tools_updated":
            state.start_session(state.requested_session_id, data.model)
        case "assistant.message":
            state.add_message(data.content)
        case "tool.execution_start":
            state.add_tool_use(data.tool, summarize_input(data.arguments), data.use_id, data.arguments)
        case "tool.execution_complete" if data.error is not None and data.error.code == "denied":
            state.deny_tool(data.use_id, data.error.message)
        case "tool.execution_complete":
            text = data.result.content or (data.error.message if data.error else "")
            state.add_tool_result(data.use_id, text, failed=not data.success)
        case "model.call_failure":
            unknown = Code.NETWORK if data.failure == "transport" else Code.API_ERROR
            code = classify_failure(data.error_message, data.status) or unknown
            state.report_retry(code, text=data.error_message)
        case "session.error":
            state.fail(data.message, data.status)
        case _:
            pass


CAPABILITIES = Capabilities(
    resumes=True,
    accepts_session_id=True,
    environment=("COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"),
)

DEFAULT_ENV = {"COPILOT_AUTO_UPDATE": "false"}

_PERMISSIONS: dict[Permissions, tuple[str, ...]] = {
    "ask": (),
    "accept-edits": ("--allow-tool=write",),
    "skip": ("--allow-all-tools", "--allow-all-paths"),
}

OUTPUT = OutputFormat(
    program="copilot",
    decode=decode,
    failures=FailureTable(
        rules=text_rules(
            {
                r"no session, task, or name matched": Code.SESSION_NOT_FOUND,
                r"no response was returned": Code.RESPONSE_EMPTY,
                r"no authentication information found": Code.AUTH_FAILED,
                r"could not connect to (\w+ )?model provider": Code.NETWORK,
            }
        )
    ),
)


def arguments(options: LaunchOptions) -> tuple[str, ...]:
    """Return the arguments of one start; --no-ask-user, because nobody can answer."""
    return (
        *("--output-format", "json", "--no-color", "--no-ask-user", "--no-auto-update"),
        "--disable-client-telemetry",
        *_PERMISSIONS[options.permissions],
        *(("--model", options.model) if options.model else ()),
        *(
            ("--resume" if options.resume else "--session-id", options.session_id)
            if options.session_id
            else ()
        ),
    )


class CopilotExecutor(ProgramExecutor):
    """Runs copilot."""

    spec = AgentSpec(
        COPILOT, CAPABILITIES, arguments, decode_with(OUTPUT), DEFAULT_ENV, sandbox=COPILOT_NEEDS
    )
