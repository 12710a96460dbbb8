"""OpenCode, headless: `opencode run --format json`, with the prompt on stdin.

OpenCode chooses its session id and prints it in every line. It prints no result: a step that ends with `stop`
is the last. By default it runs every tool without asking; OPENCODE_PERMISSION, which only
executors.opencode.env overrides, sets its permissions. It has its own price list: a cost of 0 means that the
price is not in it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from ostler.errors import Code, OstlerError
from ostler.executors.agent_json import decode_json, summarize_input
from ostler.executors.discover import OPENCODE
from ostler.executors.failures import FailureTable, text_rules
from ostler.executors.limits.retries import RetryLines
from ostler.executors.output import OutputFormat
from ostler.executors.program.executor import ProgramExecutor
from ostler.executors.program.spec import AgentSpec, LaunchOptions, decode_with
from ostler.executors.protocol import Capabilities
from ostler.executors.sandboxed.opencode import NEEDS
from ostler.executors.stream_state import StreamState
from ostler.files.paths import open_beneath
from ostler.files.user_cache import find_user_cache
from ostler.model.call import Permissions
from ostler.model.usage import Usage

_DENIED = ("rejected permission", "prevents you from using")


class _Cache(Struct, frozen=True):
    read: int = 0
    write: int = 0


class _Tokens(Struct, frozen=True):
    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: _Cache = _Cache()

    def usage(self) -> Usage:
        """Return the counts; reasoning is output."""
        return Usage(self.input, self.output + self.reasoning, self.cache.read, self.cache.write)


class _Invalid(Struct, frozen=True):
    """The input of the tool `invalid`, which replaces a tool that is not available."""

    tool: str = ""
    error: str = ""


class _ToolState(Struct, frozen=True):
    status: str = ""
    input: Raw = Raw()
    output: str = ""
    error: str = ""


class _Part(Struct, frozen=True):
    text: str = ""
    tool: str = ""
    use_id: str = field(default="", name="callID")
    state: _ToolState = _ToolState()
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


def decode(line: bytes, state: StreamState) -> bool:
    """Read one line; return True when the last step has ended."""
    event = decode_json(_LINE, line)
    if event is None:
        state.skip_line(line)
        return False
    state.start_session(event.session_id)
    match event.type:
        case "text":
            state.add_text(event.part.text)
        case "tool_use":
            _read_tool(event.part, state)
        case "step_finish":
            return _read_finish(event.part, state)
        case "error":
            state.fail(f"{event.error.name}: {event.error.data.message}", event.error.data.status)
        case _:
            # step_start, reasoning: only in the transcript.
            pass
    return False


def _read_tool(part: _Part, state: StreamState) -> None:
    # A denied tool is not available to the model: when it calls the tool nevertheless, it calls `invalid`.
    invalid = decode_json(_INVALID, part.state.input) if part.tool == "invalid" else None
    tool, failed = part.state, part.state.status == "error"
    name = invalid.tool if invalid else part.tool
    state.add_tool_use(name, summarize_input(tool.input), part.use_id, tool.input)
    if invalid and "unavailable tool" in invalid.error:
        state.deny_tool(part.use_id, invalid.error)
    if failed and any(text in tool.error for text in _DENIED):
        state.deny_tool(part.use_id, tool.error)
    else:
        state.add_tool_result(part.use_id, tool.output or tool.error, failed=failed)


def _read_finish(part: _Part, state: StreamState) -> bool:
    # The reason of a step shows whether another one follows.
    state.add_usage(part.tokens.usage())
    if part.cost > 0:
        state.add_cost(part.cost)
    if part.reason == "content-filter":
        state.fail("content filter")
    state.truncated = part.reason == "length"
    return state.finish() if part.reason != "tool-calls" else False


CAPABILITIES = Capabilities(
    resumes=True,
    reports_usage=True,
    reports_cost=True,
    environment=(
        *("OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT", "OPENCODE_AUTH_CONTENT"),
        "OPENCODE_DISABLE_*",
        *("ANTHROPIC_*", "OPENAI_*", "GOOGLE_*", "GEMINI_API_KEY", "OPENCODE_API_KEY", "OPENROUTER_API_KEY"),
        *("DEEPSEEK_API_KEY", "GROQ_API_KEY", "MISTRAL_API_KEY", "XAI_API_KEY", "MOONSHOT_API_KEY"),
    ),
    environment_with={"AWS_BEARER_TOKEN_BEDROCK": ("AWS_*",), "AWS_PROFILE": ("AWS_*",)},
)

# opencode prints nothing when it retries a request: only its log shows that.
DEFAULT_ENV = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_SHARE": "1",
    "OPENCODE_PRINT_LOGS": "1",
    "OPENCODE_LOG_LEVEL": "ERROR",
}

# Only lines with the prefix of the log: the error output may also have the text of a file.
_LOG = r"^timestamp=\S+ level=[A-Z]+ (?:run=\S+ )?"

# Not the requests for a title, which use the small model and do not delay the answer.
RETRY_LINES = RetryLines(
    (
        _LOG + r'message="stream error".* session\.id=(?P<session>\S+) small=false '
        r'.*error\.error="(?P<error>[^"]+)',
    )
)

# Never "ask": nobody can answer, so opencode denies the tool and ends the run.
PERMISSION_ENV: dict[Permissions, dict[str, str]] = {
    "ask": {"OPENCODE_PERMISSION": '{"edit":"deny","bash":"deny","webfetch":"deny"}'},
    "accept-edits": {"OPENCODE_PERMISSION": '{"edit":"allow","bash":"deny","webfetch":"deny"}'},
    "skip": {"OPENCODE_PERMISSION": '{"*":"allow"}'},
}

OUTPUT = OutputFormat(
    program="opencode",
    decode=decode,
    failures=FailureTable(text_rules({r"session not found|invalid session": Code.SESSION_NOT_FOUND})),
    retry_lines=RETRY_LINES,
)


def arguments(options: LaunchOptions) -> tuple[str, ...]:
    """Return the arguments of one start."""
    return (
        *("run", "--format", "json"),
        *(("--auto",) if options.permissions == "skip" else ()),
        *(("--model", options.model) if options.model else ()),
        *(("--session", options.session_id) if options.resume else ()),
    )


# After an interrupted installation of its plugins opencode does not start any more (C47).
_BROKEN_CACHE = re.compile(
    r"ENOENT.*reading.*cache/opencode|ENOENT.*cache/opencode/node_modules|BuildMessage:.*ENOENT.*opencode"
)
_CACHE_ENTRIES = ("node_modules", "bun.lock")  # opencode creates them again at its next start


def repair_cache(env: Mapping[str, str], error_output: str) -> str:
    """Remove the plugin cache that opencode cannot read; return a message, or an empty string."""
    home = find_user_cache(env)
    if home is None or not _BROKEN_CACHE.search(error_output):
        return ""
    removed = _remove_entries(home)
    if not removed:
        return ""
    return f"opencode's cache was broken; {' and '.join(removed)} removed from {home / 'opencode'}"


def _remove_entries(home: Path) -> list[str]:
    """Return the names of the entries that were removed; links are not followed."""
    try:
        directory = open_beneath(home, "opencode", os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, OstlerError):
        return []
    try:
        return [name for name in _CACHE_ENTRIES if _remove_entry(name, directory)]
    finally:
        os.close(directory)


def _remove_entry(name: str, directory: int) -> bool:
    # Renamed first, so that an opencode that starts meanwhile does not find a part of it.
    renamed = f".{name}-{os.urandom(8).hex()}"
    try:
        os.rename(name, renamed, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError:
        return False
    try:
        os.unlink(renamed, dir_fd=directory)
    except OSError:  # a directory
        shutil.rmtree(renamed, ignore_errors=True, dir_fd=directory)
    return True


class OpencodeExecutor(ProgramExecutor):
    """Runs opencode."""

    spec = AgentSpec(
        program=OPENCODE,
        capabilities=CAPABILITIES,
        arguments=arguments,
        read_output=decode_with(OUTPUT),
        default_env=DEFAULT_ENV,
        permission_env=PERMISSION_ENV,
        repair=repair_cache,
        sandbox=NEEDS,
    )
