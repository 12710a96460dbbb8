"""Gemini CLI, headless: `gemini --output-format stream-json`, with the prompt on stdin.

Its exit codes are special: an HTTP status is returned modulo 256, and after SIGTERM it exits with 0.
"""

from __future__ import annotations

from msgspec import Raw, Struct
from msgspec.json import Decoder

from ostler.errors import Code
from ostler.executors.agent_json import decode_json, summarize_input
from ostler.executors.discover import GEMINI
from ostler.executors.failures import HTTP_STATUSES, FailureTable, text_rules
from ostler.executors.output import OutputFormat
from ostler.executors.program.executor import ProgramExecutor
from ostler.executors.program.spec import AgentSpec, DefaultSettings, LaunchOptions, decode_with
from ostler.executors.protocol import Capabilities
from ostler.executors.root_owned import find_insecurity
from ostler.executors.sandboxed.gemini import make_needs
from ostler.executors.stream_state import StreamState
from ostler.model.call import Permissions
from ostler.model.usage import Usage

_DENIED = ("tool_not_registered", "permission_denied", "policy_violation", "execution_denied")


class _Error(Struct, frozen=True):
    type: str = ""
    message: str = ""


class _Stats(Struct, frozen=True):
    total_tokens: int = 0
    input_tokens: int = 0  # with those from the cache
    cached: int = 0
    output_tokens: int = 0  # without thoughts, which cost the same

    def usage(self) -> Usage:
        """Return the counts; thoughts are output."""
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


def decode(line: bytes, state: StreamState) -> bool:
    """Read one line; return True when it is the result."""
    event = decode_json(_LINE, line)
    if event is None:
        state.skip_line(line)
        return False
    match event.type:
        case "init":
            state.start_session(event.session_id, event.model)
        case "message" if event.role == "assistant":
            state.add_text(event.content) if event.delta else state.add_message(event.content)
        case "tool_use":
            state.add_tool_use(
                event.tool_name, summarize_input(event.parameters), event.tool_id, event.parameters
            )
        case "tool_result" if event.error is not None and event.error.type in _DENIED:
            state.deny_tool(event.tool_id, event.error.message)
        case "tool_result":
            text = event.output or (event.error.message if event.error else "")
            state.add_tool_result(event.tool_id, text, failed=event.status == "error")
        case "error" if event.severity == "error":
            state.fail(event.message)
        case "result":
            return _read_result(event, state)
        case _:
            # The echo of the prompt, warnings: only in the transcript.
            pass
    return False


def _read_result(event: _Line, state: StreamState) -> bool:
    state.add_usage(event.stats.usage())
    if event.status == "error" and state.failure is None:
        state.fail(event.error.message if event.error else event.message)
    return state.finish(succeeded=event.status == "success")


CAPABILITIES = Capabilities(
    resumes=True,
    accepts_session_id=True,
    reports_usage=True,
    environment=("GEMINI_*", "GOOGLE_*", "CODE_ASSIST_*"),
)

DEFAULT_ENV = {"GEMINI_TELEMETRY_ENABLED": "false"}

# Ostler does the retries: the ten attempts of gemini would hide a rate limit for minutes.
DEFAULT_SETTINGS = DefaultSettings(
    "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
    b"""{
  "general": {"maxAttempts": 2, "enableAutoUpdate": false, "enableAutoUpdateNotification": false},
  "privacy": {"usageStatisticsEnabled": false}
}
""",
    find_refusal=find_insecurity,
)

NEEDS = make_needs(DEFAULT_SETTINGS.content)

_PERMISSIONS: dict[Permissions, str] = {"ask": "default", "accept-edits": "auto_edit", "skip": "yolo"}

OUTPUT = OutputFormat(
    program="gemini",
    decode=decode,
    failures=FailureTable(
        rules=text_rules(
            {
                r"no previous sessions found|invalid session identifier": Code.SESSION_NOT_FOUND,
                r"session .* not found": Code.SESSION_NOT_FOUND,
                r"session id .* already exists": Code.SESSION_IN_USE,
                r"quota.{0,80}(per day|daily)|exhausted your (daily )?(quota|capacity)": Code.QUOTA_EXCEEDED,
                # Google uses this text for requests per minute, too.
                r"exceeded your current quota": Code.RATE_LIMITED,
                r"empty response": Code.RESPONSE_EMPTY,
                r"ModelNotFoundError": Code.MODEL_NOT_FOUND,
                r"not running in a trusted|untrusted": Code.AGENT_INCOMPATIBLE,
            }
        ),
        http_exit_codes={status % 256: status for status in (*HTTP_STATUSES, 400, 500, 502, 504)},
        exit_codes={
            41: Code.AUTH_FAILED,
            42: Code.AGENT_INCOMPATIBLE,
            52: Code.AGENT_INCOMPATIBLE,
            53: Code.ITERATION_LIMIT,
            55: Code.AGENT_INCOMPATIBLE,
        },
    ),
)


def arguments(options: LaunchOptions) -> tuple[str, ...]:
    """Return the arguments of one start; without --skip-trust gemini edits nothing in a new worktree."""
    return (
        *("--output-format", "stream-json", "--skip-trust"),
        *("--approval-mode", _PERMISSIONS[options.permissions]),
        *(("--model", options.model) if options.model else ()),
        *(
            ("--resume" if options.resume else "--session-id", options.session_id)
            if options.session_id
            else ()
        ),
    )


class GeminiExecutor(ProgramExecutor):
    """Runs gemini."""

    spec = AgentSpec(
        program=GEMINI,
        capabilities=CAPABILITIES,
        arguments=arguments,
        read_output=decode_with(OUTPUT),
        default_env=DEFAULT_ENV,
        default_settings=DEFAULT_SETTINGS,
        sandbox=NEEDS,
    )
