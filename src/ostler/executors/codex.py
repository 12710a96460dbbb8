"""OpenAI Codex, headless: `codex exec --json`, with the prompt on stdin.

Codex chooses the id of its thread, prints it in the first line, and counts tokens for the whole thread. The
number of its retries is part of the configuration of each provider, so Ostler cannot set it.
"""

from __future__ import annotations

import re

from msgspec import Raw, Struct
from msgspec.json import Decoder

from ostler.errors import Code
from ostler.executors.agent_json import build_input, decode_json
from ostler.executors.discover import CODEX
from ostler.executors.failures import FailureTable, classify_failure, text_rules
from ostler.executors.limits.codex_session import read_session_windows
from ostler.executors.limits.retries import RetryLines
from ostler.executors.output import OutputFormat
from ostler.executors.program.executor import ProgramExecutor
from ostler.executors.program.spec import AgentSpec, LaunchOptions, decode_with
from ostler.executors.protocol import Capabilities
from ostler.executors.sandboxed.codex import NEEDS
from ostler.executors.stream_state import StreamState
from ostler.executors.todos import read_todos
from ostler.model.call import Permissions
from ostler.model.usage import Usage

_RECONNECTING = re.compile(r"Reconnecting\W+(?:\d+/\d+|waiting for network) *\(?(.*?)\)?$", re.DOTALL)


class _Change(Struct, frozen=True):
    path: str = ""
    kind: str = ""


class _ContentPart(Struct, frozen=True):
    text: str = ""


class _Result(Struct, frozen=True):
    content: list[_ContentPart] = []


class _ToolError(Struct, frozen=True):
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
    items: list[dict[str, object]] = []  # of a todo list
    arguments: Raw = Raw(b"null")
    aggregated_output: str = ""
    exit_code: int | None = None
    result: _Result | None = None
    error: _ToolError | None = None

    @property
    def outcome(self) -> str:
        """The result of a tool as text."""
        parts = [part.text for part in self.result.content] if self.result else []
        return self.aggregated_output or "\n".join(parts) or (self.error.message if self.error else "")

    @property
    def failed(self) -> bool:
        return self.status == "failed" or bool(self.exit_code)


class _Tokens(Struct, frozen=True):
    input_tokens: int = 0
    cached_input_tokens: int = 0
    cache_write_input_tokens: int = 0
    output_tokens: int = 0

    def usage(self) -> Usage:
        # Codex counts tokens read from or written to the cache as input, too.
        cached = self.cached_input_tokens + self.cache_write_input_tokens
        uncached = max(0, self.input_tokens - cached)
        return Usage(uncached, self.output_tokens, self.cached_input_tokens, self.cache_write_input_tokens)


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


def decode(line: bytes, state: StreamState) -> bool:
    """Read one line; return True when the turn has ended."""
    event = decode_json(_LINE, line)
    if event is None:
        state.skip_line(line)
        return False
    match event.type:
        case "thread.started":
            state.start_session(event.thread_id)
        case "item.started" | "item.updated" | "item.completed" if event.item.type == "todo_list":
            state.set_todos(read_todos(event.item.items))
        case "item.started" | "item.completed":
            _read_item(event.item, state, done=event.type == "item.completed")
        case "error":
            _read_error(event.message, state)
        case "turn.completed":
            state.set_session_usage(event.usage.usage())
            return state.finish(succeeded=True)
        case "turn.failed":
            state.fail(event.error.message)
            return state.finish()
        case _:
            # turn.started, other updates: only in the transcript.
            pass
    return False


def _read_item(item: _Item, state: StreamState, *, done: bool) -> None:
    # A message counts when it is complete; a tool sends one event, at its start or, without one, at its end.
    if item.type == "agent_message":
        if done:
            state.add_message(item.text)
    elif item.type == "reasoning":
        if done:
            state.add_thinking(item.text)
    elif item.type in _TOOLS:
        _read_tool(item, state, done=done)


def _read_tool(item: _Item, state: StreamState, *, done: bool) -> None:
    tool, detail = _TOOLS[item.type], _detail(item)
    if done and item.status == "declined":
        state.deny_tool(item.id, detail, tool)
        return
    if not state.has_tool_use(item.id):
        state.add_tool_use(tool, detail, item.id, _tool_input(item))
    if done:
        state.add_tool_result(item.id, item.outcome, failed=item.failed)


def _detail(item: _Item) -> str:
    changed = ", ".join(change.path for change in item.changes)
    return item.command or changed or item.query or f"{item.server} {item.tool}".strip()


def _tool_input(item: _Item) -> Raw:
    call = {"tool": item.tool, "arguments": item.arguments} if item.tool else {}
    return build_input(
        command=item.command, changes=item.changes, query=item.query, server=item.server, **call
    )


_TOOLS = {
    "command_execution": "shell",
    "file_change": "edit",
    "mcp_tool_call": "mcp",
    "web_search": "web_search",
}


def _read_error(message: str, state: StreamState) -> None:
    # While codex reconnects an error is a warning; the last one is repeated as turn.failed.
    if found := _RECONNECTING.match(message):
        state.report_retry(classify_failure(found[1]) or Code.NETWORK, text=message)
    else:
        state.fail(message)


CAPABILITIES = Capabilities(
    resumes=True,
    reports_usage=True,
    structured_output=True,
    own_sandbox=True,
    environment=("OPENAI_*", "CODEX_HOME", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "CODEX_CA_CERTIFICATE"),
)

# codex prints that it retries, but not how long it waits: only its log has that.
DEFAULT_ENV = {"RUST_LOG": "error,codex_core::responses_retry=warn"}

# Only lines with the prefix of this log: the error output also has the source code of a patch that failed.
_LOG = r"^\d{4}-\d\d-\d\dT\S+\s+[A-Z]+\s+codex_core::responses_retry: "

RETRY_LINES = RetryLines(
    (
        _LOG + r".*retrying \w+ request \(\d+/\d+ in (?P<delay>[^)]*)\).*sampling_error=(?P<error>.*)",
        _LOG + r".*waiting to retry .*\berror=(?P<error>.*) retry_delay=(?P<delay>\S+)",
    )
)

# Without the first two a run waits five seconds for a server that it does not need.
_QUIET = ("features.plugins=false", "features.apps=false", "check_for_update_on_startup=false")
_PRIVATE = ("analytics.enabled=false", 'approval_policy="never"')

# `exec resume` has no --sandbox: the configuration works for both.
_PERMISSIONS: dict[Permissions, tuple[str, ...]] = {
    "ask": ("-c", 'sandbox_mode="read-only"'),
    "accept-edits": ("-c", 'sandbox_mode="workspace-write"'),
    "skip": ("--dangerously-bypass-approvals-and-sandbox",),
}

OUTPUT = OutputFormat(
    program="codex",
    decode=decode,
    failures=FailureTable(
        rules=text_rules(
            {
                r"no rollout found|no (thread|session|conversation) found": Code.SESSION_NOT_FOUND,
                r"quota exceeded": Code.QUOTA_EXCEEDED,
            }
        )
    ),
    retry_lines=RETRY_LINES,
)


def arguments(options: LaunchOptions) -> tuple[str, ...]:
    """Return `exec` or `exec resume ID` with its options; the last argument `-` means the prompt on stdin."""
    settings = tuple(arg for setting in (*_QUIET, *_PRIVATE) for arg in ("-c", setting))
    return (
        *(("exec", "resume") if options.resume else ("exec",)),
        *("--json", "--skip-git-repo-check"),
        *settings,
        *_PERMISSIONS[options.permissions],
        *(("--model", options.model) if options.model else ()),
        *(("--output-schema", options.schema) if options.schema else ()),
        *((options.session_id, "-") if options.resume else ("-",)),
    )


class CodexExecutor(ProgramExecutor):
    """Runs codex."""

    spec = AgentSpec(
        CODEX,
        CAPABILITIES,
        arguments,
        decode_with(OUTPUT),
        DEFAULT_ENV,
        schema_in_file=True,
        read_windows=read_session_windows,
        sandbox=NEEDS,
    )
