"""Reads the output of one run of claude: sends events, and keeps the data for the evaluation."""

from __future__ import annotations

import time

from ostler.clock import Now
from ostler.executors.agent_json import decode_json, summarize_input
from ostler.executors.claude import messages
from ostler.executors.claude.failures import classify_retry
from ostler.executors.limits.claude_event import read_report
from ostler.executors.stream_state import MAX_SKIPPED_EVENTS, SESSION_ID, report_skipped_lines
from ostler.model.call import (
    LimitReported,
    LineSkipped,
    OnEvent,
    RetryReported,
    SessionStarted,
    TextReceived,
    ThinkingReceived,
    ToolDenied,
    ToolReturned,
    ToolUsed,
    UsageReported,
)
from ostler.model.limits.window import ReportedWindow
from ostler.model.usage import Usage
from ostler.text import first_line

# The tool with which the model of claude answers a call that has a schema.
_ANSWER_TOOL = "StructuredOutput"
_NOTHING = Usage()


class ClaudeStream:
    """Reads stream-json; the evaluation reads its fields."""

    def __init__(self, on_event: OnEvent, now: Now = time.time, *, counts_messages: bool = True) -> None:
        self._on_event = on_event
        self._now = now
        self._counts_messages = counts_messages  # false: only results, which count for the session
        self._counted = Usage()  # of the results so far: each one counts from the one before it
        self._reported = Usage()  # by events
        self._usages: dict[str, Usage] = {}  # of the messages after the last result
        self._denials: set[str] = set()
        self._answers: set[str] = set()  # uses of the answer tool: their results send no event
        self.session_id = ""
        self.model = ""
        self.version = ""
        self.api_key_source = ""
        self.result: messages.Result | None = None  # the last one: there may be several
        self.error_type = ""  # of the last assistant line
        self.retry: RetryReported | None = None  # set while claude is waiting for its provider
        self.retry_text = ""  # the error that the last retry follows, if it is not in the stream
        self.windows: tuple[ReportedWindow, ...] = ()  # of the subscription, as reported last
        self.is_rejected = False  # by one of these windows
        self.skipped_lines = 0

    def read_line(self, line: bytes) -> bool:
        """Read one line; return True when it is a result."""
        head = decode_json(messages.LINE, line)
        if head is None:
            self._skip_line(line)
        elif head.type == "assistant":
            self._read_assistant(head)
        elif head.type == "user":
            self._read_tool_results(head)
        elif head.type == "result":
            return self._read_result(line)
        elif head.type == "system":
            self._read_system(head.subtype, line)
        elif head.type == "rate_limit_event":
            self._read_limits(head)
        return False

    @property
    def usage(self) -> Usage:
        """Return the usage of all results, and of the messages after the last one."""
        return sum(self._usages.values(), self._counted)

    @property
    def denied(self) -> bool:
        """Whether any tool was denied."""
        return bool(self._denials)

    def close(self, long_lines: int = 0) -> None:
        """Send the number of lines that were skipped without an event."""
        report_skipped_lines(self._on_event, self.skipped_lines, long_lines)

    def _read_assistant(self, head: messages.Line) -> None:
        self.retry = None
        self.error_type = head.api_error or head.error or ""
        message = decode_json(messages.MESSAGE, head.message)
        if message is None:
            return self._skip_line(bytes(head.message))
        self._read_content(message.content)
        if message.usage is not None:
            self._count(message.id, message.usage.usage())
        return None

    def _count(self, message: str, usage: Usage) -> None:
        """Report the tokens of a message once; each of its blocks is a line with the same counts."""
        before = self._usages.get(message)
        self._usages[message] = usage
        if self._counts_messages and usage != before:
            self._report(usage.beyond(before) if before else usage)

    def _report(self, usage: Usage) -> None:
        if usage != _NOTHING:
            self._reported += usage
            self._on_event(UsageReported(usage))

    def _read_limits(self, head: messages.Line) -> None:
        report = read_report(head.rate_limit_info)
        # A limit that is not one of the subscription has no windows.
        if report is not None and (windows := report.list_windows("event", self._now())):
            self.windows, self.is_rejected = windows, report.is_rejected
            self._on_event(LimitReported(windows))

    def _read_content(self, content: list[messages.Block] | str) -> None:
        blocks = [messages.Block("text", content)] if isinstance(content, str) else content
        for block in blocks:
            if block.type == "text":
                self._on_event(TextReceived(block.text))
            elif block.type == "thinking":
                self._on_event(ThinkingReceived(block.thinking))
            elif block.type == "tool_use" and block.name == _ANSWER_TOOL:
                self._answers.add(block.id)
                self._on_event(TextReceived(bytes(block.input).decode("utf-8", "replace")))
            elif block.type == "tool_use":
                # A copy, so that the event does not keep the whole line in memory.
                tool_input = block.input.copy()
                self._on_event(ToolUsed(block.name, summarize_input(tool_input), block.id, tool_input))

    def _read_tool_results(self, head: messages.Line) -> None:
        results = decode_json(messages.TOOL_RESULTS, head.message) or messages.ToolResults()
        for block in results.blocks:
            if block.type == "tool_result" and block.tool_use_id not in self._answers:
                self._on_event(ToolReturned(block.tool_use_id, block.text, block.is_error is True))

    def _read_system(self, subtype: str, line: bytes) -> None:
        body = decode_json(messages.SYSTEM, line) or messages.System()
        match subtype:
            case "init":
                self._read_init(body)
            case "api_retry":
                self._read_retry(body)
            case "permission_denied":
                self._deny(body.tool_use_id, body.tool_name, body.message)
            case "model_fallback":
                self.model = body.fallback_model or self.model
            case _:
                # Status, information, background tasks: only in the transcript.
                pass

    def _read_init(self, body: messages.System) -> None:
        first = not self.session_id
        self._set_session_id(body.session_id)
        self.model, self.version = body.model, body.claude_code_version
        self.api_key_source = body.api_key_source or ""
        if first:
            self._on_event(SessionStarted(self.session_id, self.model, self.version))

    def _read_retry(self, body: messages.System) -> None:
        code = classify_retry(body.error or "", body.error_status)
        self.report_retry(RetryReported(code, body.retry_delay_ms / 1000))

    def report_retry(self, retry: RetryReported, text: str = "") -> None:
        """Record that the agent retries the request to its provider by itself."""
        self.retry, self.retry_text = retry, text
        self._on_event(retry)

    def _read_result(self, line: bytes) -> bool:
        self.result = decode_json(messages.RESULT, line) or messages.Result()
        used = self.result.usage.usage()
        self._counted += used
        self._usages.clear()
        # The counts of messages are those of their first block: the result has more output tokens.
        self._report(self._counted.beyond(self._reported) if self._counts_messages else used)
        self._set_session_id(self.result.session_id)
        for denial in self.result.permission_denials:
            self._deny(denial.tool_use_id, denial.tool_name, summarize_input(denial.tool_input))
        return True

    def _set_session_id(self, reported: str) -> None:
        if SESSION_ID.fullmatch(reported):
            self.session_id = reported

    def _deny(self, use: str, tool: str, detail: str) -> None:
        if use not in self._denials:
            self._denials.add(use)
            self._on_event(ToolDenied(tool, first_line(detail)))

    def _skip_line(self, line: bytes) -> None:
        if not line.strip():
            return
        self.skipped_lines += 1
        if self.skipped_lines <= MAX_SKIPPED_EVENTS:
            self._on_event(LineSkipped(first_line(line[:400].decode("utf-8", "replace"))))
